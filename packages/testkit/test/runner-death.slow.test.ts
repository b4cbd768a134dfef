import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { withPostgres, withRedis } from '../src/clients.js';
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
  ['a SIGTERM handler of its own', { has: one, does: 'own-handler', signal: 'SIGTERM', seen: 7 }],
] as const;

describe('a runner that ends by', () => {
  it.concurrent.each(ENDINGS)('%s ends its servers', async (_, { has, does, signal, seen }) => {
    const { child, said } = await startProgram<{ pids: number[]; dirs: string[] }>(
      fixture('runner.mjs'),
      does,
      ...has,
    );
    if (signal) child.process.kill(signal);
    expect(await child.ended).toBe(seen);
    await until(() => said.pids.every(isProcessGone), { what: 'the servers to be gone' });
    // The next start of any process cleans up what the runner could not.
    if (seen === 'SIGKILL') sweepAbandonedFolders();
    await until(() => said.dirs.flatMap(processesIn).length === 0, { what: 'their children to be gone' });
    expect(said.dirs.map(dirname).filter(existsSync)).toEqual([]);
  });
});

describe('serve', () => {
  it.each([
    ['its stdin closes', (child: { stdin: { end(): void } | null }) => child.stdin?.end()],
    ['it gets a signal', (child: { kill(signal: 'SIGTERM'): boolean }) => child.kill('SIGTERM')],
  ])('prints working addresses and ends with its servers when %s', async (_, end) => {
    const { child, said } = await startProgram<Record<string, string>>(serveProgram);
    await withRedis(said.MILLRACE_TEST_REDIS_URL as string, (client) => client.ping());
    await withPostgres(said.MILLRACE_TEST_POSTGRES_URL as string, (client) => client.query('SELECT 1'));
    const family = listProcesses().filter(({ parentPid }) => parentPid === child.process.pid);
    expect(family).toHaveLength(2);
    end(child.process);
    expect(await child.ended).toBe(0);
    await until(() => family.every(({ pid }) => isProcessGone(pid)), { what: 'the servers to be gone' });
  });
});
