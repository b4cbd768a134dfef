import { wait } from '@millrace/async-utils';
import { until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import type { Evidence } from '../bulk/evidence.js';
import { type Play, planFor, runPlay, type Storm } from '../bulk/play.js';
import { leaseMs } from '../bulk/settings.js';
import { DURABLE, EVERYSEC, type World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const SLOTS = 15;
/** Longer than a call to Redis is waited for. */
const DOWN_MS = 5000;
/** The longest that Redis is away, and until everybody has noticed that it is back. */
const OUTAGE_MS = 13_000;
const BACK_TO_WORK_MS = 4000;
/** Share of jobs that a slow machine may cost a lease; without repeats it is a tenth and more. */
const LEASES_LOST_MAX = 0.02;

/** Redis looks at the clock ten times a second: so long after the turn of a second it has begun to sync, and half done. */
const SYNC_BEGUN_MS = 300;

/** What is done to Redis or the network while everybody works. */
const FAULTS: Record<string, { what: string; strike: Storm['strike'] } & Partial<Play>> = {
  'bulk-redis-killed': {
    what: 'Redis restarted, or killed -9 and down for a while (AOF always)',
    redisArgs: DURABLE,
    liveness: true,
    startLagMs: OUTAGE_MS,
    shortStrikes: 3,
    strike: async ({ redis }, { rng, scale }) => {
      await pauseBetween(rng, scale);
      if (rng.chance(0.6)) await redis.kill();
      if (scale === 1 && rng.chance(0.2)) await wait(DOWN_MS);
      await redis.restart();
    },
  },
  'bulk-redis-killed-everysec': {
    what: 'Redis killed -9 while the disk is idle (AOF everysec)',
    redisArgs: EVERYSEC,
    liveness: true,
    startLagMs: OUTAGE_MS,
    shortStrikes: 3,
    strike: async (world, { rng, scale }) => {
      await pauseBetween(rng, scale);
      await diskIdle(world);
      await world.redis.kill();
      await world.redis.restart();
    },
  },
  'bulk-redis-frozen': {
    what: 'Redis frozen (SIGSTOP) past every lease and client timeout',
    liveness: true,
    startLagMs: OUTAGE_MS,
    shortStrikes: 2,
    strike: async ({ redis }, { rng, scale }) => {
      await pauseBetween(rng, scale);
      // After so long an absence everybody takes a while to come back: with less time in between hardly anything would be under way.
      if (scale === 1) await wait(BACK_TO_WORK_MS);
      await redis.pause();
      await wait(scale < 1 ? 1.2 * leaseMs(scale) : 10_000);
      await redis.resume();
    },
  },
  'bulk-client-kill': {
    what: 'every connection killed each 100 ms, scripts flushed',
    strike: async (world) => {
      await wait(100);
      await ask(world, 'SCRIPT', 'FLUSH');
      await ask(world, 'CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal');
    },
  },
  'bulk-lost-replies': {
    what: 'connections cut after execution and before the reply',
    viaProxy: true,
    judge: judgeLeases,
    strike: async ({ proxy }) => {
      const cut = proxy.cutAfterRequest((chunk) => chunk.includes('EVALSHA'));
      await Promise.race([cut, wait(500)]).catch(() => {});
      await wait(40);
    },
  },
};

/** A repeated reserve brings the leases whose answer was lost: none of them has to expire. */
function judgeLeases({ jobs }: Evidence): Verdict[] {
  const orphans = [...jobs.values()].reduce((sum, { orphanCount }) => sum + orphanCount, 0);
  return [
    {
      invariant: 'lost answers cost no lease',
      held: orphans <= jobs.size * LEASES_LOST_MAX,
      evidence: `${orphans} leases of ${jobs.size} jobs expired`,
    },
  ];
}

const pauseBetween = (rng: ScenarioContext['rng'], scale: number): Promise<void> =>
  wait(scale < 1 ? rng.integer(200, 600) : rng.integer(1000, 4000));

/**
 * Waits until Redis waits for nothing on the disk and will not for a while: it begins to sync with the first write of a
 * second, and what it acknowledges until the sync has ended is in its memory alone.
 */
async function diskIdle({ redis }: World): Promise<void> {
  const admin = new Redis(redis.url, { protocol: 2 });
  admin.on('error', () => {});
  const isIdle = async () => {
    const info = await admin.info('persistence');
    const intoSecond = Date.now() % 1000;
    return info.includes('aof_pending_bio_fsync:0') && intoSecond > SYNC_BEGUN_MS && intoSecond < 800;
  };
  try {
    await until(isIdle, { what: 'the disk to be idle', deadlineMs: 10_000 });
  } finally {
    admin.disconnect();
  }
}

async function ask({ redis }: World, command: string, ...args: string[]): Promise<void> {
  const admin = new Redis(redis.url, { protocol: 2 });
  admin.on('error', () => {});
  await admin.call(command, ...args).catch(() => {});
  admin.disconnect();
}

for (const [name, { what, strike, ...rest }] of Object.entries(FAULTS)) {
  const play: Play = {
    workers: 4,
    shortWorkers: 2,
    slots: SLOTS,
    plan: (context) =>
      planFor(context, { groups: 60, jobs: 6000, ms: [20, 200], mixed: true }, { groups: 12, jobs: 240 }),
    storm: () => ({ strike }),
    paceMs: (scale) => (scale < 1 ? 200 : 1500),
    // A call that is repeated brings its answer that much later.
    startLagMs: 2500,
    ...rest,
  };
  registerScenario({ name, what: `bulk on Redis: ${what}`, run: (context) => runPlay(play, context) });
}
