import { expect } from 'vitest';
import type { LeasedJob, LeaseRef, Outcome, SettleAnswer, Settlement } from '../../src/lease.js';
import type { GroupCounts, GroupKey, GroupView, JobView, Page } from '../../src/model.js';
import type { BulkActionConfig, ResolvedBulkActionConfig } from '../../src/options.js';
import type { BulkStore, FetchAnswer, GroupDefinition, Heartbeat, NewJob } from '../../src/ports.js';
import type { JobPlace } from '../../src/states.js';

/** A store of its own for one test, and the hands on its clock. */
export interface StoreHarness<S extends BulkStore = BulkStore> {
  readonly store: S;
  readonly config: ResolvedBulkActionConfig;
  /** The store's time, milliseconds since 1970. */
  now(): Promise<number>;
  /** Store time moves. */
  advance(ms: number): Promise<void>;
  /** The store's clock is set, forward or back. */
  jump(ms: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Makes an empty store that shares nothing with any other. A test that speaks of one order, one set of limits or one step over
 * several tenants asks for one shard: a store of several has one of each in every shard.
 */
export type OpenStore = (config?: BulkActionConfig, size?: 'one shard') => Promise<StoreHarness>;

/** The time of a real store goes on between two calls: what a test measures may be off by this. */
export const SLACK_MS = 2000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** A rate so low that the slack never earns a token: one start in 100 seconds. */
export const SLOW_RPS = 0.01;
export const SLOW_SLOT_MS = 100_000;

/** 0, 1, … `count` - 1. */
export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** The definition of a group with the defaults that the service would put in. */
export function group(key: GroupKey, fields: Partial<GroupDefinition> = {}): GroupDefinition {
  const [tenant = '', id = ''] = key.split('/');
  return {
    key,
    tenant,
    tenantId: tenant || id,
    weight: 1,
    priorityLevel: 'normal',
    timeoutMs: HOUR_MS,
    traceparent: '',
    ...fields,
  };
}

export const job = (id: string, fields: Partial<NewJob> = {}): NewJob => ({
  id,
  processorType: 'work',
  payload: JSON.stringify({ id }),
  cost: 1,
  ...fields,
});

/** `j0`, `j1` … */
export const jobs = (count: number, fields: Partial<NewJob> = {}, prefix = 'j'): NewJob[] =>
  numbers(count).map((n) => job(`${prefix}${n}`, fields));

/** Registers jobs of a group that it makes on the way. */
export async function fill(
  { store }: StoreHarness,
  definition: GroupDefinition,
  list: readonly NewJob[] | number,
): Promise<void> {
  const added = typeof list === 'number' ? jobs(list) : list;
  const answer = await store.groups.add(definition, added, added.length);
  expect(answer).toMatchObject({ kind: 'added', added: added.length });
}

const ref = ({ key, jobId, token }: LeaseRef): LeaseRef => ({ key, jobId, token });

const settlement = (lease: LeaseRef, outcome: Outcome, durationMs: number): Settlement => ({
  ...ref(lease),
  durationMs,
  outcome,
});

export const success = (lease: LeaseRef, durationMs = 10): Settlement =>
  settlement(lease, { kind: 'success' }, durationMs);

export const retry = (
  lease: LeaseRef,
  fields: Partial<Extract<Outcome, { kind: 'retry' }>> = {},
): Settlement =>
  settlement(
    lease,
    {
      kind: 'retry',
      error: { code: 'FLAKY', message: 'not this time' },
      reason: 'TRANSIENT_ERROR',
      delayMs: 5000,
      spendsRetry: true,
      ...fields,
    },
    10,
  );

export const failure = (
  lease: LeaseRef,
  fields: Partial<Extract<Outcome, { kind: 'failure' }>> = {},
): Settlement =>
  settlement(
    lease,
    {
      kind: 'failure',
      error: { code: 'BROKEN', message: 'never again' },
      dead: false,
      signature: 'work BROKEN never again',
      ...fields,
    },
    10,
  );

export const deadly = (lease: LeaseRef, signature = 'work BROKEN never again'): Settlement =>
  failure(lease, { dead: true, signature });

/** Settles one job and expects that it counts. */
export async function settle({ store }: StoreHarness, report: Settlement): Promise<SettleAnswer> {
  const [answer] = await store.leases.settle([report]);
  expect(answer).toMatchObject({ status: 'accepted' });
  return answer as SettleAnswer;
}

/** Settles all as succeeded. */
export async function succeed({ store }: StoreHarness, leases: readonly LeaseRef[]): Promise<void> {
  const answers = await store.leases.settle(leases.map((lease) => success(lease)));
  expect(answers.map(({ status }) => status)).toEqual(leases.map(() => 'accepted'));
}

/** So many leases, each known to be there. */
export type LeaseTuple<N extends number, T extends LeasedJob[] = []> = T['length'] extends N
  ? T
  : LeaseTuple<N, [...T, LeasedJob]>;

/** One instance of the engine, reduced to what it asks of the store. */
export class Instance {
  #seq = 0;

  constructor(
    readonly harness: StoreHarness,
    readonly id = 'one',
    readonly slots = 2000,
  ) {}

  get seq(): number {
    return this.#seq;
  }

  /** Lives, and has every slot waiting: the bound of ready is then at least `slots`. */
  beat(fields: Partial<Heartbeat> = {}): Promise<void> {
    return this.harness.store.instances.heartbeat({
      id: this.id,
      startedAt: 1,
      slots: this.slots,
      waiting: this.slots,
      processorTypes: ['work'],
      ...fields,
    });
  }

  async fetch(max = 1000): Promise<FetchAnswer> {
    await this.beat();
    return this.harness.store.gate.fetch(max);
  }

  async reserve(max = 1000): Promise<readonly LeasedJob[]> {
    this.#seq += 1;
    const { leases } = this.harness.store;
    return (await leases.reserve({ instanceId: this.id, seq: this.#seq, max })).jobs;
  }

  /** Fetches and reserves until it has `max` jobs or there are no more; a store may give fewer at once. */
  async take(max = 1000): Promise<LeasedJob[]> {
    const taken: LeasedJob[] = [];
    while (taken.length < max) {
      const { ready } = await this.fetch(max - taken.length);
      const some = await this.reserve(max - taken.length);
      taken.push(...some);
      if (ready === 0 && some.length === 0) break;
    }
    return taken;
  }

  /** Takes so many, and fails when there are fewer. */
  async exactly<N extends number>(count: N): Promise<LeaseTuple<N>> {
    const leases = await this.take(count);
    if (leases.length !== count) throw new Error(`expected ${count} jobs to take, got ${leases.length}`);
    return leases as LeaseTuple<N>;
  }

  /** Takes and settles whatever can run now, as succeeded. */
  async finish(): Promise<LeasedJob[]> {
    const done: LeasedJob[] = [];
    for (;;) {
      const leases = await this.take();
      if (leases.length === 0) return done;
      await succeed(this.harness, leases);
      done.push(...leases);
    }
  }
}

export async function viewOf({ store }: StoreHarness, key: GroupKey): Promise<GroupView> {
  const view = await store.views.group(key);
  if (!view) throw new Error(`expected a group ${key}, got none`);
  return view;
}

export const countsOf = async (harness: StoreHarness, key: GroupKey): Promise<GroupCounts> =>
  (await viewOf(harness, key)).counts;

export async function jobOf({ store }: StoreHarness, key: GroupKey, jobId: string): Promise<JobView> {
  const view = await store.views.job(key, jobId);
  if (!view) throw new Error(`expected a job ${jobId} in ${key}, got none`);
  return view;
}

export const placeOf = async (harness: StoreHarness, key: GroupKey, jobId: string): Promise<JobPlace> =>
  (await jobOf(harness, key, jobId)).place;

const PAGES_MAX = 2000;

/** All items of a list, page by page. */
export async function listed<T>(page: (cursor?: string) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const next: Page<T> = await page(cursor);
    items.push(...next.items);
    cursor = next.cursor;
    if (cursor === undefined) return items;
  }
  throw new Error(`expected the list to end within ${PAGES_MAX} pages`);
}

/** Sweeps until there is nothing to sweep now. */
export async function sweepAll({ store }: StoreHarness): Promise<number> {
  let total = 0;
  for (let steps = 0; steps < PAGES_MAX; steps++) {
    const { swept, more } = await store.upkeep.sweep(1000);
    total += swept;
    if (!more) return total;
  }
  throw new Error(`expected the sweep to end within ${PAGES_MAX} steps`);
}

/** A duration that leaves the store: at most what was set, less by the time the calls took. */
export function expectInMs(actual: number | undefined, expected: number): void {
  expect(actual).toBeGreaterThan(expected - SLACK_MS);
  expect(actual).toBeLessThanOrEqual(expected + 1);
}

/** A stored time: not before what the test computed from a time read earlier. */
export function expectAt(actual: number | undefined, expected: number): void {
  expect(actual).toBeGreaterThanOrEqual(expected - 1);
  expect(actual).toBeLessThan(expected + SLACK_MS);
}

/** Groups with a job in every place: in their lanes, ready, in flight, non-ready, done and dead. */
export async function keepBusy(harness: StoreHarness, keys: readonly string[]): Promise<Instance> {
  const { leases, groups } = harness.store;
  const instance = new Instance(harness);
  for (const key of keys) {
    await fill(harness, group(key), 12);
    const [done, dead, later] = await instance.exactly(4);
    await leases.settle([success(done), deadly(dead), retry(later)]);
    await groups.seal(key);
    // The next group must not share the workers with this one.
    await groups.pause(key);
  }
  for (const key of keys) await groups.resume(key);
  await instance.fetch(6);
  return instance;
}
