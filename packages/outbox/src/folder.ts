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

/** Ticks looked at in one transaction. */
const TICKS_MAX = 1_000;

/** Ticks of a process that died are found by looking; all others are announced. */
const LOOK_EVERY_MS = 1_000;

/**
 * After a listener has failed, its batch is left alone for so long, twice as long each time. One that took all the time of a fold has kept all
 * others waiting: its batch is left alone for the longest at once.
 */
const LISTENER_PAUSE_FIRST_MS = 500;
const LISTENER_PAUSE_MAX_MS = 30_000;

/** Between two folds: each is a transaction of its own, and one for many ticks costs no more than one for few. With a backlog nobody waits for it. */
const REST_MS = 20;
const REST_WITH_BACKLOG_MS = 100;

/** How long to leave ticks to whoever has their target locked. */
const LOCKED_PAUSE_MS = 10;

/** Whose listeners a fold is telling, and the signal of its transaction. */
interface Telling {
  now?: { readonly batch: Batch; readonly signal: AbortSignal } | undefined;
}

/**
 * Counts ends of tasks into their batches and into wide joins, and so ends batches. It may run late, and any number of them at once; every
 * tick is counted once.
 */
export class Folder {
  readonly #kit: Kit;
  readonly #folds: FoldStore;
  readonly #hasBacklog: () => boolean;
  readonly #loop: Loop;
  #foldedMs = Number.NEGATIVE_INFINITY;
  /** Somebody said that there are ticks. */
  #isAnnounced = false;
  #cancelTimer: (() => void) | undefined;
  /** Batches whose listeners fail, and until when to leave them alone. */
  readonly #failing = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();
  /**
   * The last fold failed by a listener: in the next one each batch is told in a part of its own, so that a failed statement which a listener
   * swallows is found where it happened. Two round trips for each batch are too many for folds that go well.
   */
  #isWary = false;

  /** @param hasBacklog - reports whether more tasks are ready than this instance can take. */
  constructor(kit: Kit, folds: FoldStore, hasBacklog: () => boolean) {
    this.#kit = kit;
    this.#folds = folds;
    this.#hasBacklog = hasBacklog;
    this.#loop = loop(kit.options, 'Count ended tasks', LOOK_EVERY_MS, () => this.#fold());
  }

  /** Begins to look for ticks. */
  start(): void {
    this.#loop.start();
  }

  /** There are new ticks: counted at once after a rest, with others that come meanwhile when there was none. */
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

  /** Counts what there is now, and ends: of an embedded database nobody else would. */
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

  /** Gives whether there may be more, and whether others had some locked. */
  async #foldOnce(): Promise<{ readonly hasMore: boolean; readonly isLocked: boolean }> {
    const telling: Telling = {};
    const work = this.#kit.options.database.transaction(
      async (tx) => {
        telling.now = undefined; // It may be run again.
        // Both in one round trip.
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

  /** Tells listeners; one that fails, or never ends, keeps its own batch from ending, and no other: see #blame. */
  async #tell(tx: Tx, ids: readonly string[], telling: Telling): Promise<readonly Batch[]> {
    if (ids.length === 0) return [];
    const ended = await this.#kit.batches.countTasks(tx, ids);
    if (this.#kit.listeners.size === 0) return ended;
    for (const batch of ended) {
      // Of a fold that was given up meanwhile nobody else is to be told.
      tx.signal.throwIfAborted();
      telling.now = { batch, signal: tx.signal };
      if (this.#isWary) await tx.transaction((part) => this.#kit.listeners.tell(part, batch));
      else await this.#kit.listeners.tell(tx, batch);
    }
    telling.now = undefined;
    return ended;
  }

  /** After a fold that failed: leaves the batch alone whose listener it was, if it was one. */
  #blame({ now }: Telling, error: unknown): void {
    const isTimedOut = DATABASE_ERRORS.is(error, 'TX_TIMEOUT');
    // When the connection itself is gone, it is nobody's fault. A COMMIT is refused after a failed statement that somebody swallowed.
    const isListeners = now ? isTimedOut || !now.signal.aborted : DATABASE_ERRORS.is(error, 'TX_ROLLED_BACK');
    if (!isListeners) return;
    const wasWary = this.#isWary;
    this.#isWary = true;
    if (now && (wasWary || isTimedOut))
      this.#leaveAlone(now.batch, error, isTimedOut ? LISTENER_PAUSE_MAX_MS : LISTENER_PAUSE_FIRST_MS);
    // It may have met what the listener of another batch swallowed: the next fold finds out.
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
