import { pLimit } from '@millrace/async-utils';
import {
  type Clock,
  type Logger,
  type Rng,
  silentLogger,
  sleep,
  systemClock,
  systemRng,
  TIMED_OUT,
  toWorkError,
  withDeadline,
} from '@millrace/foundation';
import type { AggregatorRegistry } from '../aggregator.js';
import { ERRORS } from '../errors.js';
import type { LeasedJob, Outcome, ReserveRequest, SettleAnswer } from '../lease.js';
import type { GroupKey } from '../model.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { newToken } from '../pool/aggregation.js';
import { jobOf } from '../pool/job-context.js';
import type { Verdict } from '../pool/read-answer.js';
import { report } from '../pool/report.js';
import { STORE_BUDGET_MS } from '../pool/shutdown.js';
import { outcomeOf } from '../pool/try-outcome.js';
import type { BulkStore } from '../ports.js';
import type { Job, ProcessorRegistry } from '../processor.js';
import { groupIdOf } from '../rules/ids.js';
import { jobFields } from '../rules/log-fields.js';

/** What HeldJobs takes from outside. */
export interface HeldJobsDependencies {
  readonly store: Pick<BulkStore, 'leases' | 'instances'>;
  readonly config: ResolvedBulkActionConfig;
  /** Their retry policies count for tries that fail. */
  readonly processors: Pick<ProcessorRegistry, 'get'>;
  readonly aggregators: AggregatorRegistry;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
}

/** One job that this process holds. */
export interface HeldJob {
  readonly leased: LeasedJob;
  /** Who took it, for those who tell their workers apart. */
  readonly workerId: string;
  readonly takenAtMs: number;
  /** When its lease began last. */
  readonly leasedAtMs: number;
}

/** How many the store gives back in one step. */
const STEP = 100;
/** A lease is forgotten here after so many times its length: whoever took it does not come back for it. */
const FORGOTTEN_AFTER = 10;

/**
 * The jobs that this process has taken by hand, outside its worker pool, each under a lease of `reliableQueue.ackTimeoutMs`.
 * Whoever takes one settles it, gives it back or renews it in time; else it is recovered as an orphan.
 */
export class HeldJobs {
  /** In the store; never the pool's, whose leases are its own. */
  readonly instanceId: string;
  readonly #dependencies: HeldJobsDependencies;
  readonly #store: HeldJobsDependencies['store'];
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Logger;
  /** Those whose lease is oldest first. */
  readonly #held = new Map<string, HeldJob>();
  readonly #oneAtATime = pLimit(1);
  readonly #stopping = new AbortController();
  #seq = 0;
  #unanswered: ReserveRequest | undefined;
  #stopped: Promise<void> | undefined;

  /** @param dependencies - see HeldJobsDependencies. */
  constructor(dependencies: HeldJobsDependencies) {
    const { store, clock = systemClock, rng = systemRng(), log = silentLogger } = dependencies;
    this.#dependencies = dependencies;
    this.#store = store;
    this.#clock = clock;
    this.#rng = rng;
    this.#log = log;
    this.instanceId = `by-hand-${newToken(rng)}`;
  }

  /** Aborts when no more jobs are given out: for those who wait for one. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** How many are held now. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Takes the next job, if there is one: of ready, or where that is empty and `turns` is 1 of the fair queue through the gate.
   * @param workerId - who takes it.
   * @param turns - 0 or 1.
   * @returns undefined when nothing may start now, and after `stop`.
   * @throws MillraceError `BACKEND_UNAVAILABLE`; a job that was reserved all the same goes to the next caller.
   */
  async take(workerId: string, turns: 0 | 1): Promise<Job | undefined> {
    const leased = await this.#oneAtATime(() => this.#reserve(turns));
    if (!leased) return undefined;
    this.#forgetOld();
    const nowMs = this.#clock.monotonicMs();
    this.#hold({ leased, workerId, takenAtMs: nowMs, leasedAtMs: nowMs });
    return jobOf(leased, JSON.parse(leased.payload));
  }

  /**
   * A job that is held here.
   * @param key - the stored key of its group.
   * @param jobId - its id.
   */
  find(key: GroupKey, jobId: string): HeldJob | undefined {
    return this.#held.get(nameOf(key, jobId));
  }

  /**
   * The same, where it must be.
   * @param key - the stored key of its group.
   * @param jobId - its id.
   * @throws MillraceError `LEASE_LOST`.
   */
  need(key: GroupKey, jobId: string): HeldJob {
    const held = this.find(key, jobId);
    if (!held) throw leaseLost(key, jobId);
    return held;
  }

  /**
   * The jobs of this id that a worker holds: ids are unique in their group only.
   * @param workerId - who took them.
   * @param jobId - their id.
   */
  ofWorker(workerId: string, jobId: string): readonly HeldJob[] {
    return [...this.#held.values()].filter(
      (held) => held.workerId === workerId && held.leased.jobId === jobId,
    );
  }

  /**
   * How long a job has been held.
   * @param held - the job.
   */
  heldForMs({ takenAtMs }: HeldJob): number {
    return this.#clock.monotonicMs() - takenAtMs;
  }

  /**
   * Reports a try as the pool would: a failure may come again, a result is kept where an aggregator wants it.
   * @param held - the job.
   * @param verdict - how the try went.
   * @param durationMs - how long it took (since it was taken).
   * @returns what `settle` returns.
   * @throws MillraceError `LEASE_LOST`, `BACKEND_UNAVAILABLE`.
   */
  report(held: HeldJob, verdict: Verdict, durationMs?: number): Promise<SettleAnswer> {
    const { leased } = held;
    const { processors } = this.#dependencies;
    const policy = processors.get(leased.processorType)?.retry;
    const outcome = outcomeOf(
      leased,
      verdict,
      policy,
      this.#dependencies,
      () => this.#rng.next(),
      this.#note,
    );
    return this.settle(held, outcome, durationMs);
  }

  readonly #note = (job: LeasedJob, message: string): void =>
    report(this.#log, 'debug', jobFields(job), message);

  /**
   * Ends a try. The job is held no more, unless the store did not answer: then the same may be said again.
   * @param held - the job.
   * @param outcome - what the try came to.
   * @param durationMs - how long it took (since it was taken).
   * @returns what became of it; `cancelled`: its group had ended.
   * @throws MillraceError `LEASE_LOST`, `BACKEND_UNAVAILABLE`.
   */
  async settle(
    held: HeldJob,
    outcome: Outcome,
    durationMs: number = this.heldForMs(held),
  ): Promise<SettleAnswer> {
    const { key, jobId, token } = held.leased;
    const [answer] = await this.#store.leases.settle([{ key, jobId, token, durationMs, outcome }]);
    this.#release(held);
    if (answer?.status === 'accepted' || answer?.status === 'cancelled') return answer;
    throw leaseLost(key, jobId);
  }

  /**
   * Gives a job back through the gate, its retry count unchanged.
   * @param held - the job.
   * @returns where it is now; `cancelled`: its group had ended.
   * @throws MillraceError `LEASE_LOST`, `BACKEND_UNAVAILABLE`.
   */
  async giveBack(held: HeldJob): Promise<'ready' | 'lane' | 'cancelled'> {
    const { key, jobId, token } = held.leased;
    const [answer] = await this.#store.leases.giveBack([{ key, jobId, token }]);
    this.#release(held);
    if (answer === 'ready' || answer === 'lane' || answer === 'cancelled') return answer;
    throw leaseLost(key, jobId);
  }

  /**
   * Holds a job for another `reliableQueue.ackTimeoutMs` from now.
   * @param held - the job.
   * @returns false when the lease is lost or the group has ended: stop working on it then.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  async renew(held: HeldJob): Promise<boolean> {
    const { key, jobId, token } = held.leased;
    const [answer] = await this.#store.leases.renew([{ key, jobId, token }]);
    if (answer !== 'ok') return false;
    if (this.find(key, jobId)) this.#hold({ ...held, leasedAtMs: this.#clock.monotonicMs() });
    return true;
  }

  /**
   * Gives all of them back.
   * @returns how many there were in the store.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  async giveBackAll(): Promise<number> {
    let returned = 0;
    for (;;) {
      const answer = await this.#store.leases.giveBackAll(this.instanceId, STEP);
      returned += answer.returned;
      if (!answer.more) break;
      // A turn for everybody else between two steps.
      await sleep(this.#clock, 0);
    }
    this.#held.clear();
    return returned;
  }

  /** Gives out no more jobs and gives back those that are held; never fails, and ends whatever the store does. */
  stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    // Nothing was ever asked for: the store does not know this instance.
    if (this.#seq === 0) return;
    try {
      if ((await withDeadline(this.#clock, STORE_BUDGET_MS, this.#leave())) !== TIMED_OUT) return;
      report(this.#log, 'warn', { jobs: this.size }, 'Jobs taken by hand were not given back in time');
    } catch (error) {
      const { code, message } = toWorkError(error);
      const fields = { code, jobs: this.size, err: error };
      report(this.#log, 'warn', fields, `Jobs taken by hand were not given back: ${message}`);
    }
  }

  async #leave(): Promise<void> {
    const returned = await this.#oneAtATime(() => this.giveBackAll());
    if (returned > 0)
      report(this.#log, 'warn', { jobs: returned }, `${returned} jobs taken by hand given back`);
    await this.#store.instances.leave(this.instanceId);
  }

  async #reserve(turns: 0 | 1): Promise<LeasedJob | undefined> {
    if (this.#stopping.signal.aborted) return undefined;
    // A call that failed may have reserved a job all the same, and only the same number again brings it.
    const missed = this.#unanswered && (await this.#ask(this.#unanswered));
    if (missed) return missed;
    this.#seq += 1;
    return this.#ask({ instanceId: this.instanceId, seq: this.#seq, max: 1, turns });
  }

  async #ask(request: ReserveRequest): Promise<LeasedJob | undefined> {
    this.#unanswered = request;
    const { jobs, missing } = await this.#store.leases.reserve(request);
    this.#unanswered = undefined;
    for (const job of missing)
      report(this.#log, 'warn', jobFields(job), 'A ready entry had no job record and was removed');
    return jobs[0];
  }

  /** As the last: in the order of their leases. */
  #hold(held: HeldJob): void {
    const name = nameOf(held.leased.key, held.leased.jobId);
    this.#held.delete(name);
    this.#held.set(name, held);
  }

  /** Unless it was taken again meanwhile, under another lease. */
  #release({ leased }: HeldJob): void {
    const name = nameOf(leased.key, leased.jobId);
    if (this.#held.get(name)?.leased.token === leased.token) this.#held.delete(name);
  }

  #forgetOld(): void {
    const since =
      this.#clock.monotonicMs() - FORGOTTEN_AFTER * this.#dependencies.config.reliableQueue.ackTimeoutMs;
    for (const held of this.#held.values()) {
      if (held.leasedAtMs >= since) return;
      this.#release(held);
    }
  }
}

// Group keys hold no space.
const nameOf = (key: GroupKey, jobId: string): string => `${key} ${jobId}`;

const leaseLost = (key: GroupKey, jobId: string) =>
  ERRORS.create('LEASE_LOST', { job: `${jobId} of ${groupIdOf(key)}` });
