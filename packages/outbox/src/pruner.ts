import { type Loop, loop, sleep } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { ResolvedOutboxOptions } from './options.js';

/** Numbers of deleted rows. */
export interface Pruned {
  readonly batches: number;
  readonly tasks: number;
}

/** Deletes what is no longer needed. */
export interface PruneStore {
  /** Locks batches that ended more than `keptMs` ago, oldest first. Skips those that another transaction has locked. */
  lockEnded(
    tx: Tx,
    keptMs: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly taskCount: number }[]>;
  /** Deletes locked batches with all their rows. */
  deleteBatches(tx: Tx, ids: readonly string[]): Promise<Pruned>;
  /** Deletes versions that no instance has reported for `keptMs` and no batch uses. Returns them. */
  deleteOldDags(keptMs: number, limit: number): Promise<readonly number[]>;
}

/** A run that finds nothing is cheap, and nobody waits for a batch to be deleted. */
const EVERY_MAX_MS = 60_000;
const EVERY_MIN_MS = 1_000;

/** Limits of one transaction. A larger batch gets a transaction of its own, because half a batch is of no use. */
const TASKS_PER_STEP = 2_000;
const BATCHES_PER_STEP = 200;

/** Between two steps, so that other work gets its turn. */
const PAUSE_MS = 20;

/** Enough for the largest batch on a busy server. */
const STEP_TIMEOUT_MS = 120_000;

/** Lower limit, because an instance reports its versions once an hour and may be suspended or cut off for a while. */
const VERSION_KEPT_MIN_MS = 86_400_000;
const VERSIONS_PER_RUN = 20;

/**
 * Makes the loop that deletes batches whose retention has passed, and versions of DAGs that are no longer used. Any
 * number of instances may run one. It does not start if `retentionMs` is 0.
 */
export function prunerOf(store: PruneStore, options: ResolvedOutboxOptions): Loop {
  const { retentionMs } = options;
  const everyMs = Math.max(EVERY_MIN_MS, Math.min(retentionMs / 10, EVERY_MAX_MS));
  let stopping = new AbortController();
  const chore = loop(options, 'Delete old batches', everyMs, () => prune(store, options, stopping.signal));
  return {
    ...chore,
    start() {
      if (retentionMs === 0) return;
      stopping = new AbortController();
      chore.start();
    },
    stop() {
      stopping.abort();
      return chore.stop();
    },
  };
}

async function prune(
  store: PruneStore,
  options: ResolvedOutboxOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { clock, retentionMs, logger } = options;
  let batches = 0;
  let tasks = 0;
  do {
    const step = await deleteSome(store, options);
    batches += step.batches;
    tasks += step.tasks;
    if (step.batches === 0) break;
  } while (await sleep(clock, PAUSE_MS, stopping));
  if (batches > 0) logger.debug({ batches, tasks }, 'Old batches deleted');
  if (stopping.aborted) return;
  const keptMs = Math.max(retentionMs, VERSION_KEPT_MIN_MS);
  const versions = await store.deleteOldDags(keptMs, VERSIONS_PER_RUN);
  if (versions.length > 0) logger.debug({ versions }, 'Unused versions of DAGs deleted');
}

const deleteSome = (store: PruneStore, { database, retentionMs }: ResolvedOutboxOptions): Promise<Pruned> =>
  database.transaction(
    async (tx) => {
      const ended = await store.lockEnded(tx, retentionMs, BATCHES_PER_STEP);
      let tasks = 0;
      const ids: string[] = [];
      for (const { id, taskCount } of ended) {
        tasks += taskCount;
        if (ids.length > 0 && tasks > TASKS_PER_STEP) break;
        ids.push(id);
      }
      return ids.length === 0 ? { batches: 0, tasks: 0 } : store.deleteBatches(tx, ids);
    },
    { retries: 3, timeoutMs: STEP_TIMEOUT_MS },
  );
