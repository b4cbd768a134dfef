/*
 * A test runner in miniature: starts Redis and PostgreSQL, says their process ids as soon as it knows them, and waits
 * to be killed.
 */
import { startPostgres, startRedis } from '@millrace/testkit';

const say = (pid: number) => process.stdout.write(`${pid}\n`);
const keepAlive = setInterval(() => {}, 1000);
await Promise.all([startRedis().then(({ pid }) => say(pid)), startPostgres().then(({ pid }) => say(pid))]);
process.stdout.write('up\n');
// Nobody clears it: the parent ends this process.
void keepAlive;
