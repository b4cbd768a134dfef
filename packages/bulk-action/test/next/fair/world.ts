import { IndexedHeap, type Rng, seededRng } from '@millrace/foundation';
import { decide } from '../../../src/next/engine/changes/apply-change.js';
import { type Commit, Engine } from '../../../src/next/engine/engine.js';
import type { NewJob } from '../../../src/next/engine/format/chunk.js';
import { updateTenant } from '../../../src/next/engine/groups/update.js';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import type { GroupSettings } from '../../../src/next/engine/state/change.js';
import type { JobBody } from '../../../src/next/engine/state/chunks.js';
import { type NewOptions, resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import type { Tenant } from '../../../src/next/engine/state/records.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';
import type { BulkActionConfig } from '../../../src/options.js';
import { newJob, StoreModel } from '../engine/store.js';

/** An attempt, from its start to its end. */
export interface Attempt {
  readonly groupId: string;
  readonly tenantId: string;
  readonly position: number;
  readonly attempt: number;
  readonly instanceId: string;
  readonly body: JobBody;
  readonly atMs: number;
  endsAtMs: number;
  outcome: AttemptOutcome;
  /** Index among the starts. */
  readonly number: number;
  heapAt: number;
}

interface Plan {
  readonly ms: number;
  readonly outcome?: AttemptOutcome;
}

interface WorldOptions {
  readonly seed?: string;
  /** Slots of the instance `a`, or of each instance. */
  readonly slots?: number | { readonly [instanceId: string]: number };
  readonly types?: readonly string[];
  readonly config?: BulkActionConfig;
  readonly options?: Partial<NewOptions>;
  readonly ownId?: string;
  /** Duration and outcome of each attempt; by default 10 ms and success. */
  readonly plan?: (attempt: Omit<Attempt, 'endsAtMs' | 'outcome'>, rng: Rng) => Plan;
}

const SUCCESS: AttemptOutcome = { kind: 'success' };

/** An engine with a store and instances whose time passes only here. */
export class World {
  readonly store = new StoreModel();
  readonly rng: Rng;
  readonly engine: Engine;
  readonly starts: Attempt[] = [];
  readonly #plan: NonNullable<WorldOptions['plan']>;
  readonly #running = new IndexedHeap<Attempt, 'heapAt'>('heapAt', (a, b) =>
    a.endsAtMs === b.endsAtMs ? a.number < b.number : a.endsAtMs < b.endsAtMs,
  );
  nowUs = 1_000_000_000_000;

  constructor({ seed = 'world', slots = 1, types = ['T'], config, ...more }: WorldOptions = {}) {
    this.rng = seededRng(seed);
    this.#plan = more.plan ?? (() => ({ ms: 10 }));
    const resolved = resolveEngineConfig(
      { ...config, backpressure: { globalRps: 0, ...config?.backpressure } },
      more.options,
    );
    this.engine = new Engine(resolved, this.rng.fork('engine'));
    this.engine.open(this.store.load(), this.nowUs, more.ownId);
    for (const [id, count] of Object.entries(typeof slots === 'number' ? { a: slots } : slots))
      this.announce(id, count, types);
  }

  get state(): EngineState {
    return this.engine.state;
  }

  get nowMs(): number {
    return this.nowUs / 1000;
  }

  get running(): readonly Attempt[] {
    return this.#running.items;
  }

  announce(id: string, slots: number, types: readonly string[] = ['T']): void {
    this.engine.receive([{ kind: 'instance', id, slots, types }], this.nowUs);
  }

  submit(
    groupId: string,
    jobs: number | readonly Partial<NewJob>[],
    settings: Partial<GroupSettings> = {},
    queue?: number,
  ): void {
    const list = typeof jobs === 'number' ? Array.from({ length: jobs }, () => ({})) : jobs;
    const options = { settings: { isSealable: false, ...settings }, ...(queue !== undefined && { queue }) };
    this.store.submit(groupId, list.map(newJob), options);
    this.receive();
  }

  /** Takes in what the inbox holds. */
  receive(): void {
    this.engine.receive(this.store.inbox.splice(0), this.nowUs);
  }

  tenant(id: string): Tenant {
    const { state } = this;
    if (!state.tenants.has(id)) decide(state, { kind: 'tenant', number: state.shard.nextNumber, id });
    return state.tenants.get(id) as Tenant;
  }

  /** Sets limits of a tenant, as its update does. */
  limit(
    id: string,
    limits: { weight?: number; rps?: number; concurrency?: number; minShare?: number },
  ): void {
    const { state } = this;
    const scope = this.tenant(id);
    updateTenant(state, scope, limits);
  }

  /** Commits until nothing more can be decided now. */
  settle(): void {
    for (let left = 10_000; ; left--) {
      const commit = this.engine.commit(this.nowUs);
      if (!commit) return;
      if (left === 0) throw new Error('Commits without end');
      this.deliver(commit);
    }
  }

  /** Makes a commit durable and runs what it starts. */
  deliver(commit: Commit): void {
    this.store.write(commit, this.engine, this.nowUs);
    for (const [instanceId, deliveries] of commit.deliveries)
      for (const { groupId, position, attempt, body } of deliveries)
        this.#start({ groupId, position, attempt, body, instanceId });
  }

  #start(given: Pick<Attempt, 'groupId' | 'position' | 'attempt' | 'body' | 'instanceId'>): void {
    const { starts, nowMs } = this;
    const tenantId = given.groupId.split('/')[0] as string;
    const attempt = { ...given, tenantId, atMs: nowMs, number: starts.length, heapAt: -1 };
    const { ms, outcome = SUCCESS } = this.#plan(attempt, this.rng);
    const started: Attempt = Object.assign(attempt, { endsAtMs: nowMs + ms, outcome });
    starts.push(started);
    this.#running.put(started);
  }

  /** Lets time pass to the next end of an attempt, or to a time. */
  next(untilMs = Number.POSITIVE_INFINITY): boolean {
    this.settle();
    const first = this.#running.peek();
    if (first && first.endsAtMs <= untilMs) this.end(first);
    else if (untilMs < Number.POSITIVE_INFINITY) this.nowUs = Math.ceil(untilMs * 1000);
    else return false;
    return true;
  }

  /** Ends the attempt that is due first. No commit is made. */
  endFirst(): void {
    const first = this.#running.peek();
    if (first) this.end(first);
  }

  /** Ends an attempt. */
  end(attempt: Attempt): void {
    this.#running.remove(attempt);
    this.nowUs = Math.max(this.nowUs, Math.round(attempt.endsAtMs * 1000));
    const { instanceId, groupId, position, outcome, atMs } = attempt;
    const durationMs = this.nowMs - atMs;
    this.engine.settle(
      instanceId,
      { groupId, position, attempt: attempt.attempt, durationMs, outcome },
      this.nowUs,
    );
  }

  /** The processes of an instance are gone, with all that it ran. */
  kill(instanceId: string): void {
    for (const attempt of [...this.running])
      if (attempt.instanceId === instanceId) this.#running.remove(attempt);
    this.engine.buried([instanceId], this.nowUs);
  }

  /** Lets time pass in steps, for rates and delays. */
  pass(ms: number, stepMs = 1): void {
    const end = this.nowMs + ms;
    while (this.nowMs < end) {
      const until = Math.min(end, this.nowMs + stepMs);
      while (this.next(until) && this.nowMs < until);
    }
    this.settle();
  }

  /** Runs until so many more attempts have started, and returns these. */
  start(count: number): readonly Attempt[] {
    const from = this.starts.length;
    this.settle();
    for (let idle = 0; this.starts.length < from + count; ) {
      if (this.running.length > 0) this.next();
      else if (idle++ < 10_000) this.pass(1);
      else throw new Error(`Only ${this.starts.length - from} of ${count} attempts start`);
      this.settle();
    }
    return this.starts.slice(from, from + count);
  }

  /** Runs until nothing runs and nothing more starts. */
  drain(): readonly Attempt[] {
    const from = this.starts.length;
    while (this.next());
    return this.starts.slice(from);
  }
}

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

export const tenantOf = ({ tenantId }: Attempt): string => tenantId;
export const groupOf = ({ groupId }: Attempt): string => groupId;

/** Worker time spent on each within an interval. */
export function workerTime(
  starts: readonly Attempt[],
  nameOf: (start: Attempt) => string,
  fromMs: number,
  toMs: number,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const start of starts) {
    const ms = Math.max(0, Math.min(toMs, start.endsAtMs) - Math.max(fromMs, start.atMs));
    sums.set(nameOf(start), (sums.get(nameOf(start)) ?? 0) + ms);
  }
  return sums;
}
