import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { sweepAbandonedFolders } from '../src/owned-folder.js';
import { isProcessGone, listProcesses } from '../src/processes.js';
import { until } from '../src/until.js';
import { buildDist, fixture, processesIn, serveProgram, startProgram } from './child-programs.js';

beforeAll(buildDist, 30_000);

const both = ['redis', 'postgres'];
const one = ['redis'];

/** The servers of each runner, what it does, the signal it is sent, and the exit code or signal that its parent sees. */
const ENDINGS = [
  ['SIGINT', { has: both, does: 'stay', signal: 'SIGINT', seen: 'SIGINT' }],
  ['SIGTERM', { has: both, does: 'stay', signal: 'SIGTERM', seen: 'SIGTERM' }],
  ['SIGHUP', { has: one, does: 'stay', signal: 'SIGHUP', seen: 'SIGHUP' }],
  ['SIGKILL', { has: both, does: 'stay', signal: 'SIGKILL', seen: 'SIGKILL' }],
  ['SIGTERM with frozen servers', { has: one, does: 'stay-frozen', signal: 'SIGTERM', seen: 'SIGTERM' }],
  ['SIGKILL with frozen servers', { has: both, does: 'stay-frozen', signal: 'SIGKILL', seen: 'SIGKILL' }],
  ['process.exit(3)', { has: one, does: 'exit', signal: undefined, seen: 3 }],
  ['an uncaught error', { has: one, does: 'throw', signal: undefined, seen: 1 }],
  ['reaching its end', { has: one, does: 'forget', signal: undefined, seen: 0 }],
  ['a SIGTERM handler of its own', { has: one, does: 'stay-with-handler', signal: 'SIGTERM', seen: 7 }],
] as const;

it.concurrent.each(ENDINGS)(
  'a runner that ends by %s ends its servers',
  async (_, { has, does, signal, seen }) => {
    const { child, ended, line } = await startProgram(fixture('runner.mjs'), does, ...has);
    const { pids, dirs } = JSON.parse(line) as { pids: number[]; dirs: string[] };
    if (signal) child.kill(signal);
    expect(await ended).toBe(seen);
    await until(() => pids.every(isProcessGone), { what: 'the servers to be gone' });
    // The next start of any process cleans up what the runner could not.
    if (seen === 'SIGKILL') sweepAbandonedFolders();
    await until(() => dirs.flatMap(processesIn).length === 0, { what: 'their children to be gone' });
    expect(dirs.map(dirname).filter(existsSync)).toEqual([]);
  },
);

it.each([
  ['its stdin closes', (child: ChildProcess) => child.stdin?.end()],
  ['it gets a signal', (child: ChildProcess) => child.kill('SIGTERM')],
])('serve ends with its servers when %s', async (_, end) => {
  const { child, ended } = await startProgram(serveProgram);
  const servers = listProcesses().filter(({ parentPid }) => parentPid === child.pid);
  expect(servers).toHaveLength(2);
  end(child);
  expect(await ended).toBe(0);
  await until(() => servers.every(({ pid }) => isProcessGone(pid)), { what: 'the servers to be gone' });
});
