import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepAbandonedFolders } from '../src/owned-folder.js';
import { isProcessGone } from '../src/processes.js';
import { until } from '../src/until.js';
import { buildDist, type Child, fixture, processesIn, startProgram } from './child-programs.js';

interface Servers {
  readonly pids: number[];
  readonly dirs: string[];
}

const both = ['redis', 'postgres'];
const one = ['redis'];

/** Which servers each runner has, what it does, the signal it is sent, and the exit code or signal its parent sees. */
const endings = {
  SIGINT: { has: both, does: 'stay', signal: 'SIGINT', seen: 'SIGINT' },
  SIGTERM: { has: both, does: 'stay', signal: 'SIGTERM', seen: 'SIGTERM' },
  SIGHUP: { has: one, does: 'stay', signal: 'SIGHUP', seen: 'SIGHUP' },
  SIGKILL: { has: both, does: 'stay', signal: 'SIGKILL', seen: 'SIGKILL' },
  'SIGTERM with frozen servers': { has: one, does: 'stay-frozen', signal: 'SIGTERM', seen: 'SIGTERM' },
  'SIGKILL with frozen servers': { has: both, does: 'stay-frozen', signal: 'SIGKILL', seen: 'SIGKILL' },
  'process.exit(3)': { has: one, does: 'exit', signal: undefined, seen: 3 },
  'an uncaught error': { has: one, does: 'throw', signal: undefined, seen: 1 },
  'reaching its end': { has: one, does: 'forget', signal: undefined, seen: 0 },
  'a SIGTERM handler of its own': { has: one, does: 'own-handler', signal: 'SIGTERM', seen: 7 },
} as const;

type Ending = keyof typeof endings;

const runners = new Map<Ending, { child: Child; said: Servers }>();

beforeAll(async () => {
  buildDist();
  const starts = Object.entries(endings).map(async ([name, { does, has }]) => {
    runners.set(name as Ending, await startProgram<Servers>(fixture('runner.mjs'), does, ...has));
  });
  await Promise.all(starts);
}, 30_000);

afterAll(() => {
  for (const { child } of runners.values()) child.process.kill('SIGKILL');
});

describe('a runner that ends by', () => {
  it.each(Object.keys(endings) as Ending[])('%s takes its servers with it', async (name) => {
    const { signal, seen } = endings[name];
    const runner = runners.get(name);
    if (runner === undefined) throw new Error(`runner "${name}" did not start`);
    const { pids, dirs } = runner.said;
    if (signal) runner.child.process.kill(signal);
    expect(await runner.child.ended).toBe(seen);
    await until(() => pids.every(isProcessGone), { what: `${pids} to be gone` });

    // What nobody could clean up any more, the next start of anybody does.
    if (seen === 'SIGKILL') sweepAbandonedFolders();
    await until(() => dirs.flatMap(processesIn).length === 0, { what: 'all their children to be gone' });
    expect(dirs.map(dirname).filter(existsSync)).toEqual([]);
  });
});
