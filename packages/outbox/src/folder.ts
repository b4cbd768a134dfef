import { type Loop, loop } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS, type Tx } from '@millrace/postgres';
import type { Kit } from './kit.js';
import type { Batch } from './model.js';
import { batchFields } from './rules/log-fields.js';

/** The result of a fold. */
interface Folded {
  /** True if there may be more than it read. */
  readonly hasMore: boolean;
  /** True if another transaction had some locked, whose ticks are still to be counted. */
  readonly isLocked: boolean;
}

/** Counting of ticks into batches and wide joins. */
export interface FoldStore {
  /** Reports whether there is anything to count. Costs no commit. */
  peek(except: readonly string[]): Promise<boolean>;
  /** Counts ticks into batches. `ended` has the ids of the batches that end with it. */
  foldBatches(
    tx: Tx,
    ticksMax: number,
    except: readonly string[],
  ): Promise<Folded & { readonly ended: readonly string[] }>;
  /** Counts ticks into wide joins. */
  foldJoins(
    tx: Tx,
    ticksMax: number,
  ): Promise<Folded & { readonly ready: number; readonly skip: readonly string[] }>;
}

/** Maximum number of ticks per transaction. */
const TICKS_MAX = 1_000;

/** Ticks are announced in their process. Only those of a dead process wait for this search. */
const LOOK_EVERY_MS = 1_000;

/**
 * Pause of a batch after its listener has failed, doubled each time. A listener that used up the time of a fold has blocked
 * all other batches, so its batch gets the longest pause at once.
 */
const LISTENER_PAUSE_FIRST_MS = 500;
const LISTENER_PAUSE_MAX_MS = 30_000;

/** Pause between two folds. Each is a transaction, and one for many ticks costs no more than one for few. */
const REST_MS = 20;
const REST_WITH_BACKLOG_MS = 100;

/** Pause before ticks are counted whose target another transaction has locked. */
const LOCKED_PAUSE_MS = 10;

/** The batch whose listeners a fold is calling, and the signal of its transaction. */
interface Telling {
  now?: { readonly batch: Batch; readonly signal: AbortSignal } | undefined;
}

/**
 * Counts ends of tasks (ticks) into their batches and into wide joins, and so ends batches. Any number of instances may run
 * it. Every tick is counted once.
 */
export class Folder {
  readonly #kit: Kit;
  readonly #folds: FoldStore;
  readonly #hasBacklog: () => boolean;
  readonly #loop: Loop;
  #foldedMs = Number.NEGATIVE_INFINITY;
  /** True if there are ticks for certain. */
  #isAnnounced = false;
  #cancelTimer: (() => void) | undefined;
  /** Batches whose listeners have failed, with their pause. */
  readonly #failing = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();
  /**
   * True if a listener failed in the last fold. The next fold then calls the listeners of each batch in a savepoint, so that
   * a failed statement which a listener swallows is found where it happened. That costs two round trips per batch, too many
   * for folds that succeed.
   */
  #isWary = false;

  /** @param hasBacklog - reports whether more tasks are ready than this instance can take. */
  constructor(kit: Kit, folds: FoldStore, hasBacklog: () => boolean) {
    this.#kit = kit;
    this.#folds = folds;
    this.#hasBacklog = hasBacklog;
    this.#loop = loop(kit.options, 'Count ended tasks', LOOK_EVERY_MS, () => this.#fold());
  }

  /** Starts to look for ticks. */
  start(): void {
    this.#loop.start();
  }

  /** Counts new ticks: at once if the last fold ended long enough ago, else after the rest of the pause. */
  announce(): void {
    const { clock } = this.#kit.options;
    this.#isAnnounced = true;
    const pauseMs = this.#hasBacklog() ? REST_WITH_BACKLOG_MS : REST_MS;
    const restMs = this.#foldedMs + pauseMs - clock.monotonicMs();
    if (restMs <= 0) this.#loop.trigger();
    else
      this.#cancelTimer ??= clock.setTimer(restMs, () => {
        this.#cancelTimer = undefined;
        this.#loop.trigger();
      });
  }

  /** Stops after a last fold. On an embedded database no other instance would count these ticks. */
  async stop(): Promise<void> {
    this.#cancelTimer?.();
    await this.#loop.stop();
    await this.#fold();
  }

  async #fold(): Promise<void> {
    const isAnnounced = this.#isAnnounced;
    this.#isAnnounced = false;
    if (!isAnnounced && !(await this.#folds.peek(this.#leftAlone()))) return;
    let isLocked = false;
    for (let hasMore = true; hasMore; ) ({ hasMore, isLocked } = await this.#foldOnce());
    this.#foldedMs = this.#kit.options.clock.monotonicMs();
    if (isLocked) this.#kit.options.clock.setTimer(LOCKED_PAUSE_MS, () => this.announce(), { unref: true });
  }

  async #foldOnce(): Promise<{ readonly hasMore: boolean; readonly isLocked: boolean }> {
    const telling: Telling = {};
    const work = this.#kit.options.database.transaction(
      async (tx) => {
        telling.now = undefined; // It may be run again.
        // Both go in one round trip.
        const [joins, batches] = await Promise.all([
          this.#folds.foldJoins(tx, TICKS_MAX),
          this.#folds.foldBatches(tx, TICKS_MAX, this.#leftAlone()),
        ]);
        for (const id of joins.skip) await this.#kit.tasks.lockDescendants(tx, id);
        const ready = joins.ready + (await this.#kit.tasks.skip(tx, joins.skip));
        return { joins, batches, ready, ended: await this.#tell(tx, batches.ended, telling) };
      },
      { retries: 3, beginWithFirst: true },
    );
    const { joins, batches, ready, ended } = await work.catch((error: unknown) => {
      this.#blame(telling, error);
      throw error;
    });
    this.#isWary = false;
    this.#kit.afterReady(ready);
    for (const { id, tenant, dag, bizKey, status } of ended) {
      this.#failing.delete(id);
      this.#kit.events.emit('batch', { id, tenant, dag, bizKey, status });
    }
    return { hasMore: joins.hasMore || batches.hasMore, isLocked: joins.isLocked || batches.isLocked };
  }

  /** Calls the listeners of ended batches. One that fails or never ends holds up only its own batch: see #blame. */
  async #tell(tx: Tx, ids: readonly string[], telling: Telling): Promise<readonly Batch[]> {
    if (ids.length === 0) return [];
    const ended = await this.#kit.batches.countTasks(tx, ids);
    if (this.#kit.listeners.size === 0) return ended;
    for (const batch of ended) {
      // This fold may have been rolled back meanwhile. Call no more listeners for it.
      tx.signal.throwIfAborted();
      telling.now = { batch, signal: tx.signal };
      if (this.#isWary) await tx.transaction((part) => this.#kit.listeners.tell(part, batch));
      else await this.#kit.listeners.tell(tx, batch);
    }
    telling.now = undefined;
    return ended;
  }

  /** Pauses the batch whose listener made a fold fail, if it was a listener. */
  #blame({ now }: Telling, error: unknown): void {
    const isTimedOut = DATABASE_ERRORS.is(error, 'TX_TIMEOUT');
    // A lost connection is no listener's fault. A COMMIT fails after a failed statement that a listener swallowed.
    const isListeners = now ? isTimedOut || !now.signal.aborted : DATABASE_ERRORS.is(error, 'TX_ROLLED_BACK');
    if (!isListeners) return;
    const wasWary = this.#isWary;
    this.#isWary = true;
    if (now && (wasWary || isTimedOut))
      this.#leaveAlone(now.batch, error, isTimedOut ? LISTENER_PAUSE_MAX_MS : LISTENER_PAUSE_FIRST_MS);
    // The cause may be what the listener of another batch swallowed. The next fold finds it.
    else this.announce();
  }

  #leaveAlone(batch: Batch, error: unknown, firstMs: number): void {
    const { id, dag } = batch;
    const { clock, logger } = this.#kit.options;
    const pauseMs = Math.min(
      Math.max(firstMs, (this.#failing.get(id)?.pauseMs ?? 0) * 2),
      LISTENER_PAUSE_MAX_MS,
    );
    this.#failing.set(id, { pauseMs, untilMs: clock.monotonicMs() + pauseMs });
    logger.error(
      { ...batchFields(batch), dag, reason: String(error), pauseMs },
      'A listener failed, so its batch could not end; it will be told again',
    );
    clock.setTimer(pauseMs, () => this.announce(), { unref: true });
    this.announce();
  }

  #leftAlone(): readonly string[] {
    const nowMs = this.#kit.options.clock.monotonicMs();
    return [...this.#failing].flatMap(([id, { untilMs }]) => (untilMs > nowMs ? id : []));
  }
}
