import { backoffMs, type Loop, loop, withJitter } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { cronPeriods } from './cron-periods.js';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { Batch, Schedule } from './model.js';
import { periodKey, scheduleTurn } from './rules/schedule.js';

/** A due schedule, locked so that no other instance starts its batches. */
export interface DueSchedule extends Schedule {
  /** JSON text. */
  readonly payloadText: string;
  /** Time of the database. */
  readonly now: Date;
}

/** Schedules that are due. */
export interface DueStore {
  /** Reads the time until a schedule is due: 0 or less if one is, undefined if there is none. */
  waitMs(): Promise<number | undefined>;
  /** Locks a due schedule that no other instance has locked. */
  take(tx: Tx): Promise<DueSchedule | undefined>;
  /** Stores the next period of a locked schedule, and the batch of the last one. */
  advance(
    tx: Tx,
    schedule: Schedule,
    settled: {
      readonly nextAt: Date | undefined;
      readonly lastAt: Date | undefined;
      readonly batchId: string | undefined;
    },
  ): Promise<void>;
  /** Delays a schedule whose batch could not be started. Returns false if it has changed since. */
  postpone(
    schedule: Schedule,
    failure: { readonly error: string; readonly delayMs: number },
  ): Promise<boolean>;
}

/** Interval of the search for schedules that another instance has set. The next known one has a timer. */
const LOOK_EVERY_MS = 1_000;

/** Maximum tasks per transaction, apart from the first batch. A batch of 200,000 tasks takes seconds. */
const TASKS_PER_TURN_MAX = 10_000;

/** Enough for the largest batch on a busy server. */
const TURN_TIMEOUT_MS = 120_000;

/** Pause after a failed start, doubled each time. */
const FAILURE_PAUSE_FIRST_MS = 1_000;
const FAILURE_PAUSE_MAX_MS = 300_000;

/** Maximum length of a stored error message. */
const ERROR_LENGTH_MAX = 1_000;

/**
 * Starts the batches of schedules. Any number of instances may run it. One transaction locks a schedule, starts its batches
 * and stores its next period, so each period gets one batch even if an instance dies.
 */
export class Scheduler {
  readonly #kit: Kit;
  readonly #schedules: DueStore;
  readonly #loop: Loop;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(kit: Kit, schedules: DueStore) {
    this.#kit = kit;
    this.#schedules = schedules;
    this.#loop = loop(kit.options, 'Start batches of due schedules', LOOK_EVERY_MS, () => this.#run());
  }

  /** Starts to look for due schedules. */
  start(): void {
    this.#isStopped = false;
    this.#loop.start();
  }

  /** Looks for due schedules now. */
  trigger(): void {
    this.#loop.trigger();
  }

  /** Ends the search after the turn in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer?.();
    await this.#loop.stop();
  }

  async #run(): Promise<void> {
    this.#cancelTimer?.();
    while (!this.#isStopped) {
      const waitMs = await this.#schedules.waitMs();
      if (waitMs === undefined) return;
      if (waitMs > 0) {
        // The clock of the database decides. This timer only wakes the loop.
        if (waitMs < LOOK_EVERY_MS && !this.#isStopped)
          this.#cancelTimer = this.#kit.options.clock.setTimer(Math.ceil(waitMs), () => this.trigger());
        return;
      }
      // Other instances have locked what is due.
      if (!(await this.#takeOne())) return;
    }
  }

  /** Returns false if no schedule could be locked. */
  async #takeOne(): Promise<boolean> {
    const hand: { due?: DueSchedule | undefined; made: readonly Batch[] } = { made: [] };
    try {
      await this.#kit.options.database.transaction(
        async (tx) => {
          hand.due = await this.#schedules.take(tx);
          hand.made = hand.due ? await this.#turn(tx, hand.due) : [];
        },
        { retries: 3, timeoutMs: TURN_TIMEOUT_MS },
      );
    } catch (error) {
      // Without a schedule the database has failed.
      if (!hand.due) throw error;
      // Do not retry at once: this must not become a busy loop.
      if (!(await this.#postpone(hand.due, error))) return false;
      hand.made = [];
    }
    for (const { id, tenant, dag, bizKey } of hand.made)
      this.#kit.events.emit('started', { id, tenant, dag, bizKey });
    if (hand.due) this.#kit.wakeUps.here({ kind: 'work', dag: hand.due.dag });
    return hand.due !== undefined;
  }

  /** Starts the batches that are due. Returns the new ones. */
  async #turn(tx: Tx, due: DueSchedule): Promise<readonly Batch[]> {
    const turn = scheduleTurn({
      periods: cronPeriods(due),
      catchUp: due.catchUp,
      nowMs: due.now.getTime(),
      nextMs: due.nextAt?.getTime(),
    });
    let started = 0;
    let tasks = 0;
    let last: Batch | undefined;
    const made: Batch[] = [];
    for (const period of turn.due) {
      if (tasks >= TASKS_PER_TURN_MAX) break;
      const { batch, isNew } = await this.#start(tx, due, period);
      if (isNew) made.push(batch);
      last = batch;
      tasks += batch.taskCount;
      started++;
    }
    const restMs = started < turn.due.length ? turn.due[started] : turn.nextMs;
    await this.#schedules.advance(tx, due, {
      nextAt: dateOf(restMs),
      lastAt: dateOf(turn.due[started - 1]),
      batchId: last?.id,
    });
    return made;
  }

  /** Starts the version that is applied, or was registered last, so that all instances start the same one. */
  async #start(
    tx: Tx,
    due: DueSchedule,
    periodMs: number,
  ): Promise<{ readonly batch: Batch; readonly isNew: boolean }> {
    const { tenant, dag, name, payloadText: payload } = due;
    const batch = {
      ...{ tenant, dag, version: undefined, bizKey: periodKey(name, periodMs), payload },
      ...{ traceparent: undefined, rerun: false, schedule: name },
    };
    // A batch that was started by hand under this key is the batch of the period.
    const made = await this.#kit.batches.start(batch, tx);
    const found = made ?? (await this.#kit.batches.find(batch, tx));
    if (!found) throw ERRORS.create('DAG_NOT_FOUND', { dag });
    return { batch: found, isNew: made !== undefined };
  }

  /** Stores the delay and the error, for all instances and for people. Returns false if the schedule has changed since. */
  async #postpone(due: DueSchedule, error: unknown): Promise<boolean> {
    const { logger, rng } = this.#kit.options;
    const { tenant, name, dag, failures } = due;
    const pauseMs = backoffMs({
      strategy: 'exponential',
      attempt: failures + 1,
      baseMs: FAILURE_PAUSE_FIRST_MS,
      maxMs: FAILURE_PAUSE_MAX_MS,
    });
    const delayMs = Math.floor(withJitter(pauseMs, -0.2, rng.next()));
    const reason = String(error)
      .replaceAll(/[\p{Cc}\p{Surrogate}]/gu, ' ')
      .slice(0, ERROR_LENGTH_MAX);
    // Nothing is postponed if the commit happened and its reply was lost, or if another instance was faster.
    const isPostponed = await this.#schedules.postpone(due, { error: reason, delayMs });
    if (isPostponed)
      logger.error(
        { schedule: name, tenant, dag, reason, delayMs },
        'A schedule could not start its batch; it will be tried again',
      );
    return isPostponed;
  }
}

const dateOf = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(ms));
