import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/*
 * How each peer is set up: what its contender is given, and the same in words, which are printed with every result so that a reader can
 * repeat or dispute it.
 */

/** Both measured here, 20,000 jobs: batches of 1,000 with four under way 24,000 to 36,000/s, of 50 one by one 19,000/s. */
export const BULLMQ = {
  batch: 1000,
  underWay: 4,
  job: { removeOnComplete: true },
  worker: { removeOnComplete: { count: 0 } },
  // RESP2: it reads replies as ioredis 5 gave them. Auto-pipelining stays off: it halved the worker's throughput.
  connection: { protocol: 2 },
} as const;

/** Measured here, 20,000 jobs: batches of 1,000 with four under way 81,000 to 148,000/s, of 50 one by one 81,000 to 90,000/s. */
export const BEE_QUEUE = {
  batch: 1000,
  underWay: 4,
  queue: { getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: true },
} as const;

export const GRAPHILE_WORKER = {
  batch: 1000,
  /** What its own page on performance takes, which the bar is for; and a longer one, which is quicker here. */
  localQueue: 500,
  localQueueBest: 2000,
  /** With a local queue completions are written in groups, of those that end in the same turn of the event loop. */
  grouped: { completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  /** Beside the jobs: one connection listens, one looks for jobs. */
  connectionsBeside: 2,
} as const;

export const PG_BOSS = {
  batch: 1000,
  workers: 4,
  /** Without its clock and its maintenance, which have nothing to do here. */
  boss: { supervise: false, schedule: false },
  work: { batchSize: 100, pollingIntervalSeconds: 0.5 },
} as const;

export const PISCINA = { minThreads: 2, maxThreads: 2, idleTimeout: 60_000 } as const;

const text = (count: number) => count.toLocaleString('en');

const PEER_SETTINGS = {
  'p-limit': 'same concurrency as ours',
  'p-queue': 'same concurrency as ours, no interval, autoStart',
  'p-retry': 'same retries; minTimeout 0, factor 1 where a try fails, else its defaults',
  'p-timeout': 'same milliseconds',
  fastq: 'promise API, concurrency 1, no-op worker; filled while paused, then drained',
  bullmq: `one queue (it has no groups), addBulk of ${text(BULLMQ.batch)} with ${BULLMQ.underWay} under way, removeOnComplete, no QueueEvents, worker concurrency as ours, ioredis with RESP${BULLMQ.connection.protocol} and no auto-pipelining (slower), the rest as it comes`,
  'bee-queue': `one queue (it has no groups), saveAll of ${text(BEE_QUEUE.batch)} with ${BEE_QUEUE.underWay} under way, removeOnSuccess, getEvents, sendEvents and storeJobs off, worker concurrency as ours, the rest as it comes`,
  'graphile-worker': `addJobs of ${text(GRAPHILE_WORKER.batch)}; no-op jobs: localQueue ${GRAPHILE_WORKER.localQueue}, completeJobBatchDelay and failJobBatchDelay 0 (as its own page on performance), and localQueue ${text(GRAPHILE_WORKER.localQueueBest)} to be read; jobs with an effect: without these, the INSERT through withPgClient; a pool of concurrency + ${GRAPHILE_WORKER.connectionsBeside}, logger silent, the rest as it comes`,
  'pg-boss': `insert of ${text(PG_BOSS.batch)}; ${PG_BOSS.workers} workers of batchSize ${PG_BOSS.work.batchSize}, each woken by notifyWorker after every batch (or it would sleep for ${PG_BOSS.work.pollingIntervalSeconds * 1000} ms), supervise and schedule off, the rest as it comes`,
  piscina: `minThreads = maxThreads = ${PISCINA.maxThreads}, idleTimeout ${PISCINA.idleTimeout / 1000} s, same module`,
  fastify: 'the one that NestJS brings, one POST route that answers {}, no schema, no logger, as it comes',
} as const;

const ownRequire = createRequire(import.meta.url);
/** Not ours: it is asked for where NestJS finds it. */
const BROUGHT_BY: Readonly<Record<string, string>> = { fastify: '@nestjs/platform-fastify' };

/** The installed version of a package, read from the package itself. */
function installedVersion(name: string): string {
  const bringer = BROUGHT_BY[name];
  const require = bringer ? createRequire(ownRequire.resolve(bringer)) : ownRequire;
  // Packages that export no package.json: walk up from the entry point.
  let folder = dirname(require.resolve(name));
  while (true) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (manifest.name === name) return manifest.version;
    } catch {}
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`Cannot find the package.json of ${name}`);
    folder = parent;
  }
}

/** `name version: settings` for each peer named. */
export const describePeers = (names: readonly (keyof typeof PEER_SETTINGS)[]): string[] =>
  names.map((name) => `${name} ${installedVersion(name)}: ${PEER_SETTINGS[name]}`);
