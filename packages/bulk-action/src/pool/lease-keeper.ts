import { Lifecycle, type MillraceError, type Service, sleep, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { LeaseRef } from '../lease.js';
import { groupIdOf } from '../rules/ids.js';
import { jobFields } from '../rules/log-fields.js';
import { Bell } from './bell.js';
import { PAUSE_AFTER_ERROR_MS, type PoolEnvironment } from './environment.js';
import { Line, type Linked } from './line.js';
import { Loop } from './loop.js';
import { report } from './report.js';

/** Leases renewed in one call at most. */
const RENEW_BATCH_MAX = 1000;

/** Renewals in the life of a lease: two may fail before it expires. */
const RENEWALS_PER_LEASE = 3;

/** A try under a lease. */
export interface HeldLease {
  readonly job: LeaseRef & { readonly traceparent?: string };
  /** `monotonicMs()` before the last call that renewed it: it lives until `ackTimeoutMs` after that at least. */
  renewedAtMs: number;
  /** Set when the lease is gone: it is renewed no more. */
  lost: boolean;
  /** Whether the try is over: then a lease that is gone was ended by the settlement, or the fence will say so. */
  readonly ended: boolean;
  /** Told once, while the try runs, when the lease is lost or its round has ended. */
  abort(reason: MillraceError): void;
}

/** Keeps the leases of running jobs alive, all in one call, and tells a job when its lease is gone. */
export class LeaseKeeper<T extends HeldLease & Linked<T>> implements Service {
  readonly #environment: PoolEnvironment;
  readonly #ackTimeoutMs: number;
  readonly #everyMs: number;
  readonly #held = new Line<T>();
  readonly #bell = new Bell();
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;
  #renewing = false;
  #unsubscribe: () => void = () => {};

  /** @param environment - store, configuration, clock and logger count. */
  constructor(environment: PoolEnvironment) {
    const { clock, log, config } = environment;
    this.#environment = environment;
    this.#ackTimeoutMs = config.reliableQueue.ackTimeoutMs;
    this.#everyMs = this.#ackTimeoutMs / RENEWALS_PER_LEASE;
    this.#loop = new Loop({
      name: 'LeaseKeeper',
      clock,
      log,
      bell: this.#bell,
      step: (signal) => this.#keep(signal),
    });
    this.#lifecycle = new Lifecycle('LeaseKeeper', { start: () => this.#open(), stop: () => this.#close() });
  }

  /** Begins to renew. */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Renews no more. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Renews a lease from now on, until `release`.
   * @param lease - the try; its `renewedAtMs` not later than the beginning of the lease.
   */
  hold(lease: T): void {
    this.#held.add(lease);
    // Its answer came late (the first one was lost): the next round may come too late for it.
    if (this.#environment.clock.monotonicMs() - lease.renewedAtMs >= this.#everyMs) this.#bell.ring();
  }

  /**
   * Renews a lease no more.
   * @param lease - one that is held.
   */
  release(lease: T): void {
    this.#held.remove(lease);
  }

  /** All that are held, the oldest first; also those whose lease is gone. */
  get held(): Iterable<T> {
    return this.#held;
  }

  /**
   * Renews one lease now.
   * @param lease - one that is held.
   * @returns false when it is lost or released; true when it was renewed, or when the store did not answer and it has
   * not expired yet.
   */
  async renew(lease: T): Promise<boolean> {
    if (!this.#isAlive(lease)) return false;
    try {
      await this.#renew([lease]);
    } catch (error) {
      this.#reportFailure(error, 1);
      this.#dropExpired();
    }
    return this.#isAlive(lease);
  }

  #isAlive(lease: T): boolean {
    return !lease.lost && this.#held.has(lease);
  }

  #open(): void {
    const { store } = this.#environment;
    // A cancelled group's tries see it at once, not only with their next renewal.
    this.#unsubscribe = store.wakeUps.subscribe(({ type, groupId }) => {
      if (type === 'group.failed' && this.#holdsOf(groupId)) this.#bell.ring();
    });
    this.#loop.start();
  }

  #close(): Promise<void> {
    this.#unsubscribe();
    return this.#loop.stop();
  }

  #holdsOf(groupId: string): boolean {
    for (const { job, lost } of this.#held) if (!lost && groupIdOf(job.key) === groupId) return true;
    return false;
  }

  /**
   * One round. It does not wait for the store: were a call to hang, leases would expire unnoticed.
   * @returns when to look again.
   */
  #keep(signal: AbortSignal): number {
    this.#dropExpired();
    if (!this.#renewing && this.#held.size > 0) void this.#renewAll(signal);
    const { clock } = this.#environment;
    let oldestMs = clock.monotonicMs();
    for (const { renewedAtMs, lost } of this.#held) if (!lost) oldestMs = Math.min(oldestMs, renewedAtMs);
    return Math.max(1, Math.min(this.#everyMs, oldestMs + this.#ackTimeoutMs - clock.monotonicMs()));
  }

  async #renewAll(signal: AbortSignal): Promise<void> {
    this.#renewing = true;
    // A part of the store that does not answer must not cost the leases of another: each is asked by itself.
    const renewed = await Promise.all([...this.#byPart().values()].map((leases) => this.#renewPart(leases)));
    if (renewed.includes(false)) {
      // Short leases leave no second to waste.
      const pauseMs = Math.min(PAUSE_AFTER_ERROR_MS, this.#everyMs / RENEWALS_PER_LEASE);
      await sleep(this.#environment.clock, pauseMs, signal);
      this.#bell.ring();
    }
    this.#renewing = false;
  }

  #byPart(): Map<number, T[]> {
    const { leases } = this.#environment.store;
    const parts = new Map<number, T[]>();
    for (const lease of this.#held) {
      if (lease.lost) continue;
      const part = leases.partOf?.(lease.job.key) ?? 0;
      const same = parts.get(part);
      if (same) same.push(lease);
      else parts.set(part, [lease]);
    }
    return parts;
  }

  async #renewPart(leases: readonly T[]): Promise<boolean> {
    try {
      for (let from = 0; from < leases.length; from += RENEW_BATCH_MAX)
        await this.#renew(leases.slice(from, from + RENEW_BATCH_MAX));
      return true;
    } catch (error) {
      this.#reportFailure(error, leases.length);
      return false;
    }
  }

  async #renew(leases: readonly T[]): Promise<void> {
    const { store, clock } = this.#environment;
    const sentAtMs = clock.monotonicMs();
    const answers = await store.leases.renew(
      leases.map(({ job: { key, jobId, token } }) => ({ key, jobId, token })),
    );
    leases.forEach((lease, index) => {
      const { key, jobId } = lease.job;
      switch (answers[index]) {
        case 'ok':
          lease.renewedAtMs = Math.max(lease.renewedAtMs, sentAtMs);
          break;
        case 'cancelled':
          this.#lose(lease, ERRORS.create('CANCELLED', { group: groupIdOf(key) }), 'Its group has ended');
          break;
        default:
          this.#lose(lease, ERRORS.create('LEASE_LOST', { job: jobId }), `The lease of job ${jobId} is lost`);
      }
    });
  }

  #dropExpired(): void {
    const expiredMs = this.#environment.clock.monotonicMs() - this.#ackTimeoutMs;
    for (const lease of this.#held) {
      if (lease.lost || lease.renewedAtMs > expiredMs) continue;
      const what = `The lease of job ${lease.job.jobId} could not be renewed in ${this.#ackTimeoutMs} ms`;
      this.#lose(lease, ERRORS.create('LEASE_LOST', { job: lease.job.jobId }), what);
    }
  }

  #lose(lease: T, reason: MillraceError, what: string): void {
    // Released meanwhile, or only its settlement is under way, which may have ended the lease itself.
    if (!this.#isAlive(lease)) return;
    lease.lost = true;
    if (lease.ended) return;
    const fields = { ...jobFields(lease.job), code: reason.code };
    report(this.#environment.log, 'warn', fields, `${what}; its signal aborts`);
    lease.abort(reason);
  }

  #reportFailure(error: unknown, leases: number): void {
    const { code, message } = toWorkError(error);
    const { log } = this.#environment;
    report(log, 'error', { code, leases, err: error }, `Renewing leases failed: ${message}`);
  }
}
