/*
 * `node packages/testkit/dist/serve.js`: the servers of a test run. Prints their addresses as one line of JSON, stays
 * until stdin closes or a signal comes, stops them and exits with 0. Whoever starts it holds its stdin open: when
 * that process dies, however it dies, stdin closes.
 */
import { once } from 'node:events';
import { startRunServers } from './run-servers.js';

const signalled = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
// A pipe closes, a file such as /dev/null only ends.
const stdinClosed = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close')]);
process.stdin.resume();

const servers = await startRunServers();
process.stdout.on('error', () => {}); // A reader that went away also closes stdin.
process.stdout.write(`${JSON.stringify(servers.environment)}\n`);

await Promise.race([signalled, stdinClosed]);
await servers.stop();
process.exit(0);
