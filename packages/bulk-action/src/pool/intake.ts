import { onAbort } from '@millrace/async-utils';
import { type CancelTimer, sleep, toWorkError } from '@millrace/foundation';
import type { LeasedJob, ReserveAnswer, ReserveRequest } from '../lease.js';
import { jobFields } from '../rules/log-fields.js';
import { Bell } from './bell.js';
import type { PoolCounters } from './counters.js';
import { PAUSE_AFTER_ERROR_MS, type PoolEnvironment } from './environment.js';
import { Line, type Linked } from './line.js';
import { report } from './report.js';

/** A job that is this process's now. */
export interface TakenJob {
  readonly job: LeasedJob;
  /** `monotonicMs()` when it was first asked for: its lease is not younger than that. */
  readonly leasedAtMs: number;
}

/** What an Intake works with. */
export interface IntakeEnvironment extends PoolEnvironment {
  readonly instanceId: string;
  readonly counters: PoolCounters;
  /** How many workers there are to be. */
  slots(): number;
}

/** The place of a worker in the line of those who wait; the same for all its jobs. */
interface Request extends Linked<Request> {
  /** Answers it, while it waits. */
  resolve: ((taken: TakenJob | undefined) => void) | undefined;
}

/** A call to the store under way. */
interface Asked {
  readonly max: number;
  /** `monotonicMs()` when it was first sent. */
  readonly atMs: number;
  /** undefined: the store did not answer, and the intake stops. */
  readonly answer: Promise<ReserveAnswer | undefined>;
}

/**
 * One call asks for half of the workers at most, so that the store looks for jobs for the one half while this process
 * runs those of the other; but not for fewer than this, since a call costs as much as some jobs.
 */
const ASK_AT_LEAST = 16;

/**
 * Jobs that never wait would keep every timer and socket of the process from its turn. So after so many jobs a timer is
 * set, and if it has not fired so much later, the intake waits for a turn, which takes about 1 ms. Only a store in
 * memory comes to that, and it costs 4 % at most.
 */
const TURN_EVERY_JOBS = 128;
const TURN_EVERY_MS = 25;

/**
 * Where idle workers wait. All of them share one reserve call at a time, however many they are: a round trip per
 * process, not per job. Nobody polls: the intake sleeps until work is announced, a worker becomes idle, or
 * `workerTimeoutSec` is over.
 */
export class Intake {
  readonly #environment: IntakeEnvironment;
  readonly #waiting = new Line<Request>();
  /** By the signal of its worker, which asks for one job at a time. */
  readonly #requests = new WeakMap<AbortSignal, Request>();
  readonly #bell = new Bell();
  readonly #stopping = new AbortController();
  #endListening: (() => void) | undefined;
  #pump: Promise<void> | undefined;
  #asked: Asked | undefined;
  #seq = 0;
  #handed = 0;
  #turnDueAt = TURN_EVERY_JOBS;
  #turnAskedAtMs = 0;
  #cancelTurnTimer: CancelTimer | undefined;

  /** @param environment - the pool's, with the instance's id, counters and number of workers. */
  constructor(environment: IntakeEnvironment) {
    this.#environment = environment;
  }

  /** How many workers wait for a job now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a job.
   * @param signal - withdraws the request; each worker has its own, and asks for one job at a time.
   * @returns the job; undefined when the request was withdrawn or the intake has stopped.
   */
  next(signal: AbortSignal): Promise<TakenJob | undefined> {
    if (signal.aborted || this.#stopping.signal.aborted) return Promise.resolve(undefined);
    const request = this.#requestOf(signal);
    return new Promise((resolve) => {
      request.resolve = resolve;
      this.#waiting.add(request);
      this.#bell.ring();
      this.#pump ??= this.#pumpAll();
    });
  }

  /** One listener for the life of a worker: one for each of its jobs was 3 % of the time and a fifth of the garbage. */
  #requestOf(signal: AbortSignal): Request {
    let request = this.#requests.get(signal);
    if (!request) {
      const made: Request = { resolve: undefined, before: undefined, after: undefined };
      onAbort(signal, () => this.#answer(made, undefined));
      this.#requests.set(signal, made);
      request = made;
    }
    return request;
  }

  #answer(request: Request, taken: TakenJob | undefined): void {
    this.#waiting.remove(request);
    request.resolve?.(taken);
    request.resolve = undefined;
  }

  /** Sends every waiter away; resolves when no reserve call is under way and what it brought has been given back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endListening?.();
    this.#cancelTurnTimer?.();
    for (const request of this.#waiting) this.#answer(request, undefined);
    await this.#pump;
  }

  async #pumpAll(): Promise<void> {
    const { store, clock, config, log } = this.#environment;
    const { signal } = this.#stopping;
    // Only while somebody waits: a wake-up goes to one process, and one with nothing to give it to would swallow it.
    this.#endListening = store.wakeUps.listen('work', () => this.#bell.ring());
    // Workers that become idle in the same turn ask together.
    await Promise.resolve();
    while (this.#asked || (this.#waiting.size > 0 && !signal.aborted)) {
      try {
        await this.#takeTurn();
        if ((await this.#reserveOnce()) || this.#waiting.size === 0) continue;
        const waking = await this.#bell.wait(clock, config.workerPool.workerTimeoutSec * 1000, signal);
        await Promise.resolve();
        // Those who waited have gone meanwhile: it is handed on below.
        if (waking === 'rung' && this.#waiting.size === 0) this.#bell.ring();
      } catch (error) {
        const { message } = toWorkError(error);
        report(log, 'error', { loop: 'Intake', err: error }, `Intake failed and goes on: ${message}`);
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      }
    }
    this.#endListening();
    this.#endListening = undefined;
    // It came for nobody who waits here: what it stands for is somebody else's.
    if (this.#bell.rung && this.#waiting.size === 0) store.wakeUps.passOn('work');
    this.#bell.hush();
    this.#pump = undefined;
  }

  /** Whether ready may hold more than was taken. */
  async #reserveOnce(): Promise<boolean> {
    const asked = this.#asked ?? this.#ask(this.#waiting.size);
    this.#asked = undefined;
    const answer = await asked.answer;
    if (!answer) return false;
    const { jobs, missing, rateDenied } = answer;
    this.#environment.counters.rateDenied += rateDenied;
    for (const job of missing)
      report(
        this.#environment.log,
        'warn',
        jobFields(job),
        'A ready entry had no job record and was removed',
      );
    // Less than was asked for: ready has been looked through to the bottom.
    const full = jobs.length + missing.length + rateDenied >= asked.max;
    const others = this.#waiting.size - jobs.length;
    if (full && others > 0 && !this.#stopping.signal.aborted) {
      this.#asked = this.#ask(others);
      // Jobs that never wait would run before the call is on its way.
      await sent();
    }
    await this.#handOver(jobs, asked.atMs);
    return full;
  }

  #ask(wanted: number): Asked {
    const { clock, instanceId, slots } = this.#environment;
    const max = Math.min(wanted, Math.max(ASK_AT_LEAST, Math.ceil(slots() / 2)));
    // A ring that came before the call is answered by it.
    this.#bell.hush();
    this.#seq += 1;
    return {
      max,
      atMs: clock.monotonicMs(),
      answer: this.#reserve({ instanceId, seq: this.#seq, max, turns: max }),
    };
  }

  /**
   * Asks until there is an answer: a call that failed may have reserved jobs all the same, and only the same number
   * again brings them. A stop grants one more try.
   */
  async #reserve(request: ReserveRequest): Promise<ReserveAnswer | undefined> {
    const { store, clock, log } = this.#environment;
    const { signal } = this.#stopping;
    for (;;) {
      const last = signal.aborted;
      try {
        return await store.leases.reserve(request);
      } catch (error) {
        const { code, message } = toWorkError(error);
        report(log, 'error', { code, seq: request.seq, err: error }, `Reserving jobs failed: ${message}`);
        if (last) return undefined;
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      }
    }
  }

  async #handOver(jobs: readonly LeasedJob[], leasedAtMs: number): Promise<void> {
    let at = 0;
    for (const request of this.#waiting) {
      const job = jobs[at];
      if (!job) break;
      this.#answer(request, { job, leasedAtMs });
      at += 1;
    }
    this.#handed += at;
    if (at === jobs.length) return;
    const { store, log } = this.#environment;
    const leases = jobs.slice(at).map(({ key, jobId, token }) => ({ key, jobId, token }));
    report(log, 'info', { jobs: leases.length }, 'Jobs given back: no worker waits for them any more');
    await store.leases.giveBack(leases).catch((error: unknown) => {
      const { code, message } = toWorkError(error);
      const fields = { code, jobs: leases.map(({ jobId }) => jobId), err: error };
      report(log, 'error', fields, `Giving jobs back failed, their leases will expire: ${message}`);
    });
  }

  async #takeTurn(): Promise<void> {
    if (this.#handed < this.#turnDueAt) return;
    this.#turnDueAt = this.#handed + TURN_EVERY_JOBS;
    const { clock } = this.#environment;
    const nowMs = clock.monotonicMs();
    if (!this.#cancelTurnTimer) {
      this.#turnAskedAtMs = nowMs;
      this.#cancelTurnTimer = clock.setTimer(0, () => {
        this.#cancelTurnTimer = undefined;
      });
    } else if (nowMs - this.#turnAskedAtMs >= TURN_EVERY_MS) await sleep(clock, 0, this.#stopping.signal);
  }
}

/** What was sent in this turn of the event loop has been written then. */
const sent = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
