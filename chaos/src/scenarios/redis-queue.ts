import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { RedisQueue } from '@millrace/runtime/redis';
import {
  type LedgerEntry,
  type RedisServer,
  readLedger,
  startRedis,
  startTcpProxy,
  type TcpProxy,
} from '@millrace/testkit';
import { Redis } from 'ioredis';
import { programFile } from '../programs.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const PRODUCERS = 8;
const PRODUCERS_PER_PROCESS = 2;
const CONSUMERS = 2;
const MAX_SIZE = 50;
const ITEMS_PER_PRODUCER = 1_500;
const ENDS_WITHIN_MS = 60_000;

/** What is done to Redis or the network while the processes work; called again and again until they are done. */
type Fault = (world: { redis: RedisServer; proxy: TcpProxy; rng: Rng; scale: number }) => Promise<void>;

const FAULTS: Record<string, { what: string; strike: Fault }> = {
  'redis-queue-bound': {
    what: `${PRODUCERS} producers and ${CONSUMERS} consumers in six processes share a RedisQueue; no fault`,
    strike: () => wait(10),
  },
  'redis-queue-restart': {
    what: 'the same while Redis is restarted, half of the times after kill -9 (AOF always)',
    strike: async ({ redis, rng }) => {
      await wait(rng.integer(300, 1500));
      if (rng.chance(0.5)) await redis.kill();
      await redis.restart();
    },
  },
  'redis-queue-client-kill': {
    what: 'the same while every connection is killed each 100 ms',
    strike: async ({ redis }) => {
      await wait(100);
      const admin = new Redis(redis.url, { protocol: 2 });
      admin.on('error', () => {});
      await admin.call('CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal').catch(() => {});
      admin.disconnect();
    },
  },
  'redis-queue-freeze': {
    what: 'the same while Redis is frozen (SIGSTOP) for 5 s at a time',
    strike: async ({ redis, rng, scale }) => {
      await wait(rng.integer(300, 1000));
      await redis.pause();
      await wait(Math.max(1000, 5000 * scale));
      await redis.resume();
      await wait(1000);
    },
  },
  'redis-queue-lost-replies': {
    what: 'the same while connections are cut after execution and before the reply',
    strike: async ({ proxy }) => {
      await Promise.race([proxy.cutAfterRequest((chunk) => chunk.includes('EVALSHA')), wait(500)]).catch(
        () => {},
      );
      await wait(40);
    },
  },
};

async function run(strike: Fault, { rng, scale, folder }: ScenarioContext): Promise<Verdict[]> {
  const items = Math.max(40, Math.round(ITEMS_PER_PRODUCER * scale));
  const ledger = join(folder, 'ledger');
  await using redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  await using proxy = await startTcpProxy({ targetHost: redis.host, targetPort: redis.port });
  await using observer = new RedisQueue<string>({
    name: 'chaos',
    maxSize: MAX_SIZE,
    redis: { url: redis.url },
  });

  const start = (role: string, index: number) =>
    spawn(
      process.execPath,
      [
        programFile('children/queue-client'),
        role,
        `${role}${index}`,
        proxy.url('redis'),
        ledger,
        String(MAX_SIZE),
        String(items),
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
  const producers = Array.from({ length: PRODUCERS / PRODUCERS_PER_PROCESS }, (_, index) =>
    start('producer', index),
  );
  const consumers = Array.from({ length: CONSUMERS }, (_, index) => start('consumer', index));
  const world = { redis, proxy, rng, scale };
  const storm = strikeUntil(strike, world, producers);
  const bound = watchSize(observer, producers);
  const produced = await allEnd(producers);
  const strikes = await storm;
  const most = await bound;
  // Faults are over: closing must get through, and the consumers must drain and end by themselves.
  await observer.close();
  const consumed = await allEnd(consumers);
  return judge(readLedger(ledger), { items, most, strikes, ended: produced && consumed });
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

async function strikeUntil(
  strike: Fault,
  world: Parameters<Fault>[0],
  producers: readonly ChildProcess[],
): Promise<number> {
  let strikes = 0;
  for (; producers.some(isRunning); strikes++) await strike(world);
  return strikes;
}

/** The largest size that anybody could see; a Redis that does not answer shows nothing. */
async function watchSize(observer: RedisQueue<string>, producers: readonly ChildProcess[]): Promise<number> {
  let most = 0;
  while (producers.some(isRunning)) {
    most = Math.max(most, await observer.size().catch(() => 0));
    await wait(2);
  }
  return most;
}

/** True when all have ended by themselves; those that hang are killed, so that the scenario itself never does. */
async function allEnd(children: readonly ChildProcess[]): Promise<boolean> {
  const killer = setTimeout(() => children.forEach((child) => void child.kill('SIGKILL')), ENDS_WITHIN_MS);
  await Promise.all(children.map((child) => isRunning(child) && once(child, 'exit')));
  clearTimeout(killer);
  return children.every((child) => child.exitCode === 0);
}

function judge(
  entries: readonly LedgerEntry[],
  { items, most, strikes, ended }: { items: number; most: number; strikes: number; ended: boolean },
): Verdict[] {
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind).map(({ item }) => String(item));
  const [acknowledged, unknown, got] = [of('acknowledged'), of('unknown'), of('got')];
  const delivered = new Set(got);
  const lost = acknowledged.filter((item) => !delivered.has(item));
  const doubled = got.length - delivered.size;
  const submitted = acknowledged.length + unknown.length;
  return [
    {
      invariant: 'I1 no loss',
      held: lost.length === 0 && submitted === items * PRODUCERS,
      evidence: `${acknowledged.length} acknowledged, ${lost.length} lost; ${unknown.length} not acknowledged`,
    },
    { invariant: 'I2 one delivery', held: doubled === 0, evidence: `${got.length} got, ${doubled} twice` },
    {
      invariant: 'I5 bound kept',
      held: most <= MAX_SIZE,
      evidence: `at most ${most} of ${MAX_SIZE} seen waiting`,
    },
    {
      invariant: 'I10 liveness',
      held: ended && strikes > 0,
      evidence: `${strikes} strikes, ${ended ? 'every process ended by itself' : 'a process hung'}`,
    },
  ];
}

for (const [name, { what, strike }] of Object.entries(FAULTS)) {
  registerScenario({ name, what, run: (context) => run(strike, context) });
}
