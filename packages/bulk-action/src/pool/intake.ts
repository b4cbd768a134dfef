import { onAbort } from '@millrace/async-utils';
import { sleep, toWorkError } from '@millrace/foundation';
import type { LeasedJob, ReserveAnswer, ReserveRequest } from '../lease.js';
import { groupIdOf } from '../rules/ids.js';
import { Bell } from './bell.js';
import type { PoolCounters } from './counters.js';
import { PAUSE_AFTER_ERROR_MS, type PoolEnvironment } from './environment.js';
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
}

type Waiter = (taken: TakenJob | undefined) => void;

/**
 * Jobs that never wait would keep every timer and socket of the process from its turn, so after so many jobs and so
 * much time the intake waits for one. A turn takes a timer about 1 ms: this costs 4 % at most, with a store in memory;
 * another one takes turns anyway.
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
  readonly #waiting = new Set<Waiter>();
  /** By the signal of its worker, which asks for one job at a time. */
  readonly #requests = new WeakMap<AbortSignal, { waiter: Waiter | undefined }>();
  readonly #bell = new Bell();
  readonly #stopping = new AbortController();
  #endListening: (() => void) | undefined;
  #pump: Promise<void> | undefined;
  #seq = 0;
  #handed = 0;
  #turnAtMs: number;
  #turnDueAt = TURN_EVERY_JOBS;

  /** @param environment - the pool's, with the instance's id and counters. */
  constructor(environment: IntakeEnvironment) {
    this.#environment = environment;
    this.#turnAtMs = environment.clock.monotonicMs();
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
      const waiter: Waiter = (taken) => {
        this.#waiting.delete(waiter);
        request.waiter = undefined;
        resolve(taken);
      };
      request.waiter = waiter;
      this.#waiting.add(waiter);
      this.#bell.ring();
      this.#pump ??= this.#pumpAll();
    });
  }

  /** One listener for the life of a worker: one for each of its jobs was 3 % of the time and a fifth of the garbage. */
  #requestOf(signal: AbortSignal): { waiter: Waiter | undefined } {
    let request = this.#requests.get(signal);
    if (!request) {
      const made: { waiter: Waiter | undefined } = { waiter: undefined };
      onAbort(signal, () => made.waiter?.(undefined));
      this.#requests.set(signal, made);
      request = made;
    }
    return request;
  }

  /** Sends every waiter away; resolves when no reserve call is under way and what it brought has been given back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endListening?.();
    for (const waiter of [...this.#waiting]) waiter(undefined);
    await this.#pump;
  }

  async #pumpAll(): Promise<void> {
    const { store, clock, config, log } = this.#environment;
    const { signal } = this.#stopping;
    // Only while somebody waits: a wake-up goes to one process, and one with nothing to give it to would swallow it.
    this.#endListening = store.wakeUps.listen('work', () => this.#bell.ring());
    // Workers that become idle in the same turn ask together.
    await Promise.resolve();
    while (this.#waiting.size > 0 && !signal.aborted) {
      try {
        await this.#takeTurn();
        if (await this.#reserveOnce()) continue;
        await this.#bell.wait(clock, config.workerPool.workerTimeoutSec * 1000, signal);
        await Promise.resolve();
      } catch (error) {
        const { message } = toWorkError(error);
        report(log, 'error', { loop: 'Intake', err: error }, `Intake failed and goes on: ${message}`);
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      }
    }
    this.#endListening();
    this.#endListening = undefined;
    // It came while the last call was under way, and nobody waits here: what it stands for is somebody else's.
    if (this.#bell.rung && this.#waiting.size === 0) store.wakeUps.passOn('work');
    this.#bell.hush();
    this.#pump = undefined;
  }

  /** Whether ready may hold more than was taken. */
  async #reserveOnce(): Promise<boolean> {
    const { clock, instanceId, counters } = this.#environment;
    const max = this.#waiting.size;
    if (max === 0) return false;
    // A ring that came before the call is answered by it.
    this.#bell.hush();
    const leasedAtMs = clock.monotonicMs();
    const answer = await this.#ask({ instanceId, seq: this.#seq + 1, max });
    if (!answer) return false;
    this.#seq += 1;
    const { jobs, missing, rateDenied } = answer;
    counters.rateDenied += rateDenied;
    for (const { key, jobId } of missing) {
      const fields = { group: groupIdOf(key), job: jobId };
      report(this.#environment.log, 'warn', fields, 'A ready entry had no job record and was removed');
    }
    await this.#handOver(jobs.map((job) => ({ job, leasedAtMs })));
    // Less than was asked for: ready has been looked through to the bottom.
    return jobs.length + missing.length + rateDenied >= max;
  }

  /**
   * Asks until there is an answer: a call that failed may have reserved jobs all the same, and only the same number
   * again brings them. A stop grants one more try.
   */
  async #ask(request: ReserveRequest): Promise<ReserveAnswer | undefined> {
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

  async #handOver(taken: readonly TakenJob[]): Promise<void> {
    const waiters = this.#waiting.values();
    const left = taken.filter((one) => {
      const { value: waiter, done } = waiters.next();
      if (done) return true;
      this.#handed += 1;
      waiter(one);
      return false;
    });
    if (left.length === 0) return;
    const { store, log } = this.#environment;
    const leases = left.map(({ job: { key, jobId, token } }) => ({ key, jobId, token }));
    report(log, 'info', { jobs: leases.length }, 'Jobs given back: no worker waits for them any more');
    await store.leases.giveBack(leases).catch((error: unknown) => {
      const { code, message } = toWorkError(error);
      const fields = { code, jobs: leases.map(({ jobId }) => jobId), err: error };
      report(log, 'error', fields, `Giving jobs back failed, their leases will expire: ${message}`);
    });
  }

  async #takeTurn(): Promise<void> {
    if (this.#handed < this.#turnDueAt) return;
    const { clock } = this.#environment;
    this.#turnDueAt = this.#handed + TURN_EVERY_JOBS;
    const now = clock.monotonicMs();
    if (now - this.#turnAtMs < TURN_EVERY_MS) return;
    this.#turnAtMs = now;
    await sleep(clock, 0, this.#stopping.signal);
  }
}
