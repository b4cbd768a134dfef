/*
 * Runs Millrace under other JavaScript runtimes: every example with its expected output, then `millrace start` on real Redis and PostgreSQL,
 * its page, and some jobs and operations over HTTP. `npm run smoke -- bun` names the runtimes; without a name all run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { EXPECTED } from '../examples/test/expected-output.mjs';
import { build } from './build.mjs';
import { addressOf, root, run, runOrExit } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { makePgliteTemplate } from './make-pglite-template.mjs';

/** How npm installs and starts each runtime. `--bun` keeps Bun from handing a program with a `node` line to Node. */
const RUNTIMES = {
  node: ['node'],
  bun: ['npx', '--yes', 'bun@1.4.4', 'run', '--bun'],
  deno: ['npx', '--yes', 'deno@2.9.6', 'run', '--allow-all'],
};
const CLI = join(root, 'apps/server/bin/millrace.js');
const WORK = ['--jobs', '500', '--operations', '50'];

/** Runs an example and returns what is wrong, or undefined. */
async function exampleProblem([command, ...args], name) {
  const { code, output } = await run(command, [...args, join(root, 'examples', name)]);
  const missing = EXPECTED[name].filter((text) => !text.test(output));
  if (code !== 0 || missing.length > 0)
    return `examples/${name} exited with ${code}; missing: ${missing.join(' ')}\n${output}`;
}

/** Starts a server, runs work over HTTP, stops it, and returns what is wrong, or undefined. */
async function serverProblem([command, ...args]) {
  // npx starts the runtime in a process of its own: signals go to the group, and the pipe closes when both have ended.
  const child = spawn(command, [...args, CLI, 'start', '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const closed = once(child, 'close');
  try {
    const url = await addressOf(child);
    const page = await fetch(url);
    if (page.status !== 200) return `The page answered ${page.status}`;
    const { code, output } = await run('node', [CLI, 'bench', '--url', url, ...WORK]);
    if (code !== 0) return `millrace bench exited with ${code}\n${output}`;
  } catch (error) {
    return error.message;
  } finally {
    try {
      process.kill(-child.pid, 'SIGTERM');
    } catch {} // It has ended.
    await closed;
  }
}

await Promise.all([ensurePackages(), ensureServers()]);
await Promise.all([build(), makePgliteTemplate()]);
const { startPostgres, startRedis } = await import('../packages/testkit/dist/index.js');
const servers = await Promise.all([startRedis(), startPostgres()]);
const [redis, postgres] = servers;
Object.assign(process.env, { REDIS_URL: redis.url, DATABASE_URL: postgres.url });

const named = process.argv.slice(2);
try {
  await runOrExit('node', [CLI, 'migrate']);
  for (const name of named.length > 0 ? named : Object.keys(RUNTIMES)) await smoke(name);
} finally {
  await Promise.all(servers.map((server) => server.stop()));
}

async function smoke(name) {
  const runtime = RUNTIMES[name];
  if (!runtime) throw new Error(`No runtime ${name}; name one of ${Object.keys(RUNTIMES).join(', ')}`);
  const report = (what, problem) => {
    console.log(`${problem ? 'FAILED' : 'ok    '} ${name}: ${what}${problem ? `\n${problem}` : ''}`);
    if (problem) process.exitCode = 1;
  };
  for (const example of Object.keys(EXPECTED)) report(example, await exampleProblem(runtime, example));
  report('millrace start', await serverProblem(runtime));
}
