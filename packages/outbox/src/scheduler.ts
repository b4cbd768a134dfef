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

/** A schedule that another instance has set is seen by looking; the next one that is known has a timer of its own. */
const LOOK_EVERY_MS = 1_000;

/** What is started in one transaction beside the first batch: one of 200,000 tasks alone takes seconds. */
const TASKS_PER_TURN_MAX = 10_000;

/** For the largest batch on a busy server. */
const TURN_TIMEOUT_MS = 120_000;

/** After a start that failed; twice as long each time. */
const FAILURE_PAUSE_FIRST_MS = 1_000;
const FAILURE_PAUSE_MAX_MS = 300_000;

/** Enough of a message to know what is wrong. */
const ERROR_LENGTH_MAX = 1_000;

/**
 * Starts the batches of schedules. Any number of them may run: a schedule is taken, its batches are started and its next period is noted in one
 * transaction, so each period has one batch whoever dies where.
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
        // The clock of the database is asked again then: it decides, this one only wakes.
        if (waitMs < LOOK_EVERY_MS && !this.#isStopped)
          this.#cancelTimer = this.#kit.options.clock.setTimer(Math.ceil(waitMs), () => this.trigger());
        return;
      }
      // What is due is in the hands of others.
      if (!(await this.#takeOne())) return;
    }
  }

  /** Gives whether there was one to take, and there may be more. */
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
      // Without a schedule in hand it is the database that fails, and not a schedule.
      if (!hand.due) throw error;
      // Not at once again: whatever is the matter, this must not become a busy loop.
      if (!(await this.#postpone(hand.due, error))) return false;
      hand.made = [];
    }
    for (const { id, tenant, dag, bizKey } of hand.made)
      this.#kit.events.emit('started', { id, tenant, dag, bizKey });
    if (hand.due) this.#kit.wakeUps.here({ kind: 'work', dag: hand.due.dag });
    return hand.due !== undefined;
  }

  /** Gives the batches that it made. */
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

  /** The version that is applied, or was registered last, so that it does not matter which instance has taken the schedule. */
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
    // One that somebody has started by hand under this key is the batch of the period.
    const made = await this.#kit.batches.start(batch, tx);
    const found = made ?? (await this.#kit.batches.find(batch, tx));
    if (!found) throw ERRORS.create('DAG_NOT_FOUND', { dag });
    return { batch: found, isNew: made !== undefined };
  }

  /** In the database, so that the other instances wait, too, and people see why. Gives whether it stood as it did. */
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
    // A commit whose reply was lost has happened after all, or another instance was faster: nothing to postpone.
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
