/*
 * `node packages/testkit/dist/serve.js`: the servers that all test processes of a run share. Prints their addresses as
 * one line of JSON, waits until stdin closes or a signal comes, stops the servers and exits with 0. Stdin also closes
 * when the process that started this one is killed. If a server does not start, the other one ends with this process.
 */
import { once } from 'node:events';
import { startPostgres } from './postgres-server.js';
import { startRedis } from './redis-server.js';

const signalled = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
// A pipe closes. A file such as /dev/null only ends.
const stdinClosed = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close')]);
process.stdin.resume();

const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
process.stdout.on('error', () => {}); // A reader that is gone has closed stdin too.
const addresses = { MILLRACE_TEST_REDIS_URL: redis.url, MILLRACE_TEST_POSTGRES_URL: postgres.url };
process.stdout.write(`${JSON.stringify(addresses)}\n`);

await Promise.race([signalled, stdinClosed]);
await Promise.all([redis.stop(), postgres.stop()]);
process.exit(0);
