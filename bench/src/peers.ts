import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** How each peer is set up; printed with every result so that a reader can repeat or dispute it. */
export const PEER_SETTINGS = {
  'p-limit': 'same concurrency as ours',
  'p-queue': 'same concurrency as ours, no interval, autoStart',
  'p-retry': 'same retries; minTimeout 0, factor 1 where a try fails, else its defaults',
  'p-timeout': 'same milliseconds',
  fastq: 'promise API, concurrency 1, no-op worker; filled while paused, then drained',
  bullmq:
    'one queue (it has no groups), addBulk of 1,000 with 4 under way, removeOnComplete, no QueueEvents, worker concurrency as ours, ioredis with RESP2 and no auto-pipelining (slower), the rest as it comes',
  'bee-queue':
    'one queue (it has no groups), saveAll of 1,000 with 4 under way, removeOnSuccess, getEvents, sendEvents and storeJobs off, worker concurrency as ours, the rest as it comes',
  'graphile-worker':
    'addJobs of 1,000; no-op jobs: localQueue 500, completeJobBatchDelay and failJobBatchDelay 0 (as its own page on performance), and localQueue 2,000 to be read; jobs with an effect: without these, the INSERT through withPgClient; a pool of concurrency + 2, logger silent, the rest as it comes',
  'pg-boss':
    'insert of 1,000; 4 workers of batchSize 100, each woken by notifyWorker after every batch (or it would sleep for 500 ms), supervise and schedule off, the rest as it comes',
  piscina: 'minThreads = maxThreads = 2, idleTimeout 60 s, same module',
} as const;

const require = createRequire(import.meta.url);

/** The installed version of a package, read from the package itself. */
function installedVersion(name: string): string {
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
