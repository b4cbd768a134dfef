import { type Clock, type Rng, seededRng } from '@millrace/foundation';
import { BulkActionService } from '../../src/bulk-action-service.js';
import type { LeasedJob, Outcome } from '../../src/lease.js';
import { MemoryStore } from '../../src/memory/store.js';
import type { GroupInput } from '../../src/model.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { BulkStore } from '../../src/ports.js';
import { addAlike, type JobMaker } from './add-alike.js';
import type { Start } from './recorded-store.js';

/** How a try goes: how long it takes and what comes of it; `vanished`: its process is gone and it is never settled. */
export interface TryPlan {
  readonly ms: number;
  readonly outcome?: Outcome | 'vanished';
}

/** An engine without a pool. */
export interface DirectEngineOptions {
  readonly seed: string;
  readonly config?: BulkActionConfig;
  /** Jobs that run at once (1). */
  readonly slots?: number;
  /** How a try goes (1 ms, succeeds). */
  readonly plan?: (job: LeasedJob, rng: Rng) => TryPlan;
}

interface Running {
  readonly start: Start;
  readonly endsAt: number;
  readonly outcome: Outcome | 'vanished';
}

const NEW_YEAR_2026 = Date.UTC(2026, 0, 1);
const BATCH = 1000;
const STEPS_MAX = 1_000_000;

/** Comes again after so long. */
export const again = (delayMs: number): Outcome => ({
  kind: 'retry',
  error: { code: 'FLAKY', message: 'not this time' },
  reason: 'TRANSIENT_ERROR',
  delayMs,
  spendsRetry: true,
});

/**
 * Drives the ports of a store in virtual time without the pool: dispatch, fetch, reserve, settle after the time a try
 * takes. Ready never waits: what is fetched starts at once, so the order of starts is the fair order.
 */
export class DirectEngine {
  readonly store: BulkStore;
  readonly service: BulkActionService;
  readonly starts: Start[] = [];
  readonly #slots: number;
  readonly #plan: (job: LeasedJob, rng: Rng) => TryPlan;
  readonly #rng: Rng;
  /** The next to end first. */
  readonly #running: Running[] = [];
  #time = 0;
  #seq = 0;

  constructor({ seed, config: given, slots = 1, plan = () => ({ ms: 1 }) }: DirectEngineOptions) {
    const clock: Clock = {
      now: () => NEW_YEAR_2026 + this.#time,
      monotonicMs: () => this.#time,
      setTimer: () => {
        throw new Error('nobody waits here');
      },
    };
    const config = resolveBulkActionConfig({ backpressure: { globalRps: 0 }, ...given });
    this.#slots = slots;
    this.#plan = plan;
    this.#rng = seededRng(seed);
    this.store = new MemoryStore(config, { clock });
    this.service = new BulkActionService({ store: this.store, config, clock, rng: this.#rng.fork('ids') });
  }

  /** Milliseconds since the start. */
  get time(): number {
    return this.#time;
  }

  /** Submits a group of `count` jobs, all alike unless a function makes each. */
  async submit(group: GroupInput, count: number, jobOf?: JobMaker): Promise<void> {
    await this.service.createGroup(group);
    await this.add(group.id, count, jobOf);
  }

  /** Adds jobs to a group; ids go on from where they are. */
  add(groupId: string, count: number, jobOf?: JobMaker): Promise<void> {
    return addAlike(this.service, groupId, count, jobOf);
  }

  /**
   * Works until so many more jobs have started.
   * @returns those that started.
   */
  async start(count: number): Promise<readonly Start[]> {
    const before = this.starts.length;
    await this.run(() => this.starts.length - before >= count);
    return this.starts.slice(before, before + count);
  }

  /** Works until the condition holds; fails when nothing more can happen before. */
  async run(done: () => boolean): Promise<void> {
    for (let steps = 0; ; steps++) {
      // Only microtasks here: a loop that never ends would not even meet the timeout of its test.
      if (steps === STEPS_MAX) throw new Error(`${steps} steps and still at ${this.#time} ms`);
      const nextInMs = await this.#startAll(done);
      if (done()) return;
      const nextEnd = this.#running[0]?.endsAt ?? Number.POSITIVE_INFINITY;
      const next = Math.min(nextEnd, this.#time + nextInMs);
      if (next === Number.POSITIVE_INFINITY) throw new Error(`nothing more happens at ${this.#time} ms`);
      this.#time = Math.max(this.#time, next);
      await this.#endDue();
    }
  }

  /** Moves time; what would have ended meanwhile ends at the new time. */
  async pass(ms: number): Promise<void> {
    this.#time += ms;
    await this.#endDue();
  }

  /** Fills the free slots; tells when something that waits may go on. */
  async #startAll(done: () => boolean): Promise<number> {
    const { gate, leases, instances } = this.store;
    let nextInMs = Number.POSITIVE_INFINITY;
    for (;;) {
      const free = this.#slots - this.#running.length;
      // With every slot busy only an end can help.
      if (free === 0) return Number.POSITIVE_INFINITY;
      await instances.heartbeat({
        id: 'direct',
        startedAt: 0,
        slots: this.#slots,
        waiting: free,
        processorTypes: ['work'],
      });
      const due = await gate.dispatch(BATCH);
      const fetched = await gate.fetch(free);
      nextInMs = Math.min(due.nextInMs ?? nextInMs, fetched.nextInMs ?? nextInMs);
      if (done()) return nextInMs;
      this.#seq += 1;
      const { jobs } = await leases.reserve({ instanceId: 'direct', seq: this.#seq, max: free });
      for (const job of jobs) this.#begin(job);
      if (jobs.length === 0) return nextInMs;
    }
  }

  #begin(job: LeasedJob): void {
    const { ms, outcome = { kind: 'success' } } = this.#plan(job, this.#rng);
    const start: Start = { at: this.#time, job, endedAt: undefined, instanceId: 'direct' };
    this.starts.push(start);
    this.#running.push({ start, endsAt: this.#time + ms, outcome });
    this.#running.sort((a, b) => a.endsAt - b.endsAt);
  }

  async #endDue(): Promise<void> {
    const due = this.#running.filter(({ endsAt }) => endsAt <= this.#time);
    this.#running.splice(0, due.length);
    let vanished = 0;
    for (const { start, outcome } of due) {
      start.endedAt = this.#time;
      if (outcome === 'vanished') {
        vanished += 1;
        continue;
      }
      const { key, jobId, token } = start.job;
      const durationMs = this.#time - start.at;
      await this.store.leases.settle([{ key, jobId, token, durationMs, outcome }]);
    }
    if (vanished > 0) await this.store.leases.recover(Array.from({ length: vanished }, () => 0));
  }
}
