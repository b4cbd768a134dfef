import { Redis } from 'ioredis';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { isProcessGone, listProcesses } from '../src/processes.js';
import { until } from '../src/until.js';
import { buildDist, type Child, fixture, serveProgram, startProgram } from './child-programs.js';

interface Environment {
  readonly MILLRACE_TEST_REDIS_URL: string;
  readonly MILLRACE_TEST_POSTGRES_URL: string;
}

type Run = { child: Child; said: Environment };

const start = (program: string, ...args: string[]) => startProgram<Environment>(program, ...args);
let runs: Record<'used' | 'signalled' | 'orphaned', Run>;

beforeAll(async () => {
  buildDist();
  const [used, signalled, orphaned] = await Promise.all([
    start(serveProgram),
    start(serveProgram),
    start(fixture('serve-and-wait.mjs'), serveProgram),
  ]);
  runs = { used, signalled, orphaned };
}, 30_000);

/** serve and its servers, found through their parents. */
function familyOf({ child }: Run): number[] {
  const all = listProcesses();
  const childrenOf = (pid: number): number[] =>
    all
      .filter(({ parentPid }) => parentPid === pid)
      .flatMap((entry) => [entry.pid, ...childrenOf(entry.pid)]);
  return childrenOf(child.process.pid as number);
}

const gone = (pids: readonly number[]) =>
  until(() => pids.every(isProcessGone), { what: `processes ${pids.join(', ')} to be gone` });

describe('serve', () => {
  it('gives working addresses and stops when stdin closes', async () => {
    const { child, said } = runs.used;
    const redis = new Redis(said.MILLRACE_TEST_REDIS_URL, { protocol: 2 });
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
    const client = new pg.Client({ connectionString: said.MILLRACE_TEST_POSTGRES_URL });
    await client.connect();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();

    const family = familyOf(runs.used);
    expect(family.length).toBeGreaterThan(2);
    child.process.stdin?.end();
    expect(await child.ended).toBe(0);
    await gone(family);
  });

  it('stops on a signal and exits with 0', async () => {
    const family = familyOf(runs.signalled);
    runs.signalled.child.process.kill('SIGTERM');
    expect(await runs.signalled.child.ended).toBe(0);
    await gone(family);
  });

  it('ends when the script that started it is killed', async () => {
    const family = familyOf(runs.orphaned);
    runs.orphaned.child.process.kill('SIGKILL');
    await gone(family);
  });
});
