import fc from 'fast-check';
import { expect } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import type { GroupKey, JobView } from '../../src/model.js';
import type { BulkActionConfig } from '../../src/options.js';
import { type Explanation, explainJob } from '../../src/rules/explain.js';
import { openMemory } from '../memory/open-memory.js';
import { fill, group, Instance, job, retry, type StoreHarness, success } from '../store-contract/tools.js';

/** Names one job. */
export interface JobName {
  readonly key: GroupKey;
  readonly jobId: string;
}

const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });
const limits = {
  rps: maybe(fc.constantFrom(0.5, 2, 5, 20)),
  burst: maybe(fc.integer({ min: 1, max: 4 })),
  concurrency: maybe(fc.integer({ min: 1, max: 3 })),
};

const anyGroup = fc.record({
  ...limits,
  tenant: fc.nat(2),
  weight: fc.constantFrom(1, 2, 5),
  priorityLevel: fc.constantFrom('high', 'normal', 'low'),
  paused: fc.boolean(),
  jobs: fc.array(
    fc.record({
      cost: fc.constantFrom(1, 1, 1, 2, 5),
      delayMs: fc.constantFrom(0, 0, 0, 700, 5000),
      processorType: fc.constantFrom('work', 'work', 'rare'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

/** What has happened before somebody asks. */
const anyPast = fc.array(
  fc.record({
    verb: fc.constantFrom('drive', 'drive', 'succeed', 'fail', 'wait', 'pause', 'fetch', 'cap'),
    n: fc.nat(9),
  }),
  { maxLength: 12, size: 'max' },
);

/** Anything that a world may be at first. */
export const anyWorld = fc.record({
  config: fc.record({
    globalRps: fc.constantFrom(0, 0, 2, 10, 1000),
    burst: fc.integer({ min: 1, max: 5 }),
    readyQueueMaxSize: fc.integer({ min: 1, max: 8 }),
    fetchBatchSize: fc.integer({ min: 1, max: 6 }),
    maxShare: fc.constantFrom(1, 1, 0.3),
  }),
  tenants: fc.array(fc.record(limits), { minLength: 3, maxLength: 3 }),
  groups: fc.array(anyGroup, { minLength: 1, maxLength: 6 }),
  instances: fc.array(fc.nat(4), { maxLength: 2 }),
  past: anyPast,
  target: fc.nat(1000),
});

export type WorldPlan = typeof anyWorld extends fc.Arbitrary<infer T> ? T : never;

const given = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What stands around a step: `step` does it and says how many were looked at before their turn was given to others. */
export type Around = (
  verb: 'dispatch' | 'fetch' | 'reserve',
  step: () => Promise<{ readonly passedOver: number }>,
) => Promise<void>;

/** A process that takes as many jobs as it has free slots, and no other way. */
class Pool {
  readonly #running: LeasedJob[] = [];
  readonly #instance: Instance;

  constructor(
    readonly harness: StoreHarness,
    readonly id: string,
    readonly slots: number,
    readonly processorTypes: readonly string[],
  ) {
    this.#instance = new Instance(harness, id, slots);
  }

  get free(): number {
    return this.slots - this.#running.length;
  }

  /** Says that it is alive, as often as a real one. */
  beat(processorTypes = this.processorTypes): Promise<void> {
    return this.#instance.beat({ waiting: this.free, processorTypes });
  }

  async take(): Promise<number> {
    const jobs = this.free === 0 ? [] : await this.#instance.reserve(this.free);
    this.#running.push(...jobs);
    return jobs.length;
  }

  /** Takes up to `count` of its jobs off their slots. */
  release(count: number): LeasedJob[] {
    return this.#running.splice(0, count);
  }
}

/** More turns with nothing but refusals than there are groups and tenants: the Fetcher would sleep until a slot comes. */
const REFUSALS_MAX = 50;

/** An engine without its loops: a test says when something is looked at, and when time goes on. */
export class World {
  readonly harness: StoreHarness;
  readonly pools: Pool[] = [];
  readonly names: JobName[] = [];
  readonly #types = new Set(['work']);

  constructor(config: BulkActionConfig) {
    this.harness = openMemory(config);
  }

  static async of(plan: WorldPlan): Promise<World> {
    const { globalRps, burst, readyQueueMaxSize, fetchBatchSize, maxShare } = plan.config;
    const world = new World({
      backpressure: { globalRps, burst, readyQueueMaxSize },
      workerPool: { fetchBatchSize },
      fairQueue: { maxShare },
    });
    for (const slots of plan.instances) await world.addPool(slots);
    const { groups } = world.harness.store;
    for (const [n, tenant] of plan.tenants.entries()) await groups.updateTenant(`t${n}`, given(tenant));
    for (const [n, one] of plan.groups.entries()) await world.#addGroup(`/g${n}`, one);
    for (const { verb, n } of plan.past) await world.#happen(verb, n);
    return world;
  }

  async #addGroup(key: GroupKey, plan: WorldPlan['groups'][number]): Promise<void> {
    const { jobs, paused, tenant, ...fields } = plan;
    const now = await this.harness.now();
    const list = jobs.map(({ delayMs, cost, processorType }, n) =>
      job(`j${n}`, { cost, processorType, ...(delayMs > 0 && { notBefore: now + delayMs }) }),
    );
    await fill(this.harness, group(key, { ...given(fields), tenantId: `t${tenant}` }), list);
    if (paused) await this.harness.store.groups.pause(key);
    this.names.push(...list.map(({ id }) => ({ key, jobId: id })));
  }

  async #happen(verb: WorldPlan['past'][number]['verb'], n: number): Promise<void> {
    const { store } = this.harness;
    switch (verb) {
      case 'drive':
        return this.drive();
      case 'fetch':
        await this.beat();
        return void (await store.gate.fetch(n));
      case 'wait':
        return this.harness.advance(n * 130);
      case 'pause':
        return void (await store.groups.pause(`/g${n}`));
      case 'cap':
        return void (await store.groups.update(`/g${n}`, { concurrency: 1 }));
      default: {
        const leases = this.pools.flatMap((pool) => pool.release(n % 3));
        const settlements = leases.map((lease) =>
          verb === 'succeed' ? success(lease) : retry(lease, { delayMs: n * 200 }),
        );
        await store.leases.settle(settlements);
      }
    }
  }

  async addPool(slots: number): Promise<void> {
    const pool = new Pool(this.harness, `i${this.pools.length}`, slots, [...this.#types]);
    this.pools.push(pool);
    await pool.beat();
  }

  /** From now on every instance has a processor of this type. */
  async learn(type: string): Promise<void> {
    this.#types.add(type);
    if (this.pools.length === 0) await this.addPool(0);
    await this.beat();
  }

  async beat(): Promise<void> {
    for (const pool of this.pools) await pool.beat([...this.#types]);
  }

  /**
   * All that the loops of the engine do without time going on, until none of it moves anything.
   * @param around - told before and after each step of the store, to see what it does to a job.
   */
  async drive(around: Around = async (_, step) => void (await step())): Promise<void> {
    let refusing = 0;
    for (let turn = 0; turn < 1000; turn++) {
      await this.beat();
      let moved = 0;
      let refused = 0;
      await around('dispatch', async () => {
        const answer = await this.harness.store.gate.dispatch(1);
        moved += answer.moved;
        // Whom it looked at on the way is not in its answer.
        return { passedOver: answer.ready };
      });
      await around('fetch', async () => {
        const { ready, rejected } = await this.harness.store.gate.fetch(1);
        moved += ready;
        refused += rejected;
        return { passedOver: rejected };
      });
      for (const pool of this.pools) {
        await around('reserve', async () => {
          const before = await this.#ready();
          const started = await pool.take();
          // Also a job that may not start after all leaves ready, and makes room.
          const left = before - (await this.#ready());
          moved += left;
          return { passedOver: left - started };
        });
      }
      // A refusal parks somebody, so others may move; where it is refused again and again nothing does.
      refusing = moved === 0 ? refusing + 1 : 0;
      if (moved === 0 && (refused === 0 || refusing > REFUSALS_MAX)) return;
    }
    throw new Error('expected the engine to come to rest within 1,000 turns');
  }

  async #ready(): Promise<number> {
    return (await this.harness.store.views.queues()).ready;
  }

  async explain({ key, jobId }: JobName): Promise<Explanation> {
    const facts = await this.harness.store.views.explain(key, jobId);
    if (!facts) throw new Error(`expected facts about ${jobId} of ${key}, got none`);
    return explainJob(facts);
  }

  async view({ key, jobId }: JobName): Promise<JobView> {
    const view = await this.harness.store.views.job(key, jobId);
    if (!view) throw new Error(`expected a job ${jobId} of ${key}, got none`);
    return view;
  }

  /** Ends what runs, and lets time go on: those who come first get out of the way. */
  async drain(ms: number): Promise<void> {
    for (const pool of this.pools) {
      const answers = await this.harness.store.leases.settle(
        pool.release(pool.slots).map((lease) => success(lease)),
      );
      for (const { status } of answers) expect(['accepted', 'cancelled', 'stale']).toContain(status);
    }
    await this.harness.advance(ms);
    await this.drive();
  }
}

/** A job of the world, by any number. */
export const pick = (world: World, n: number): JobName => world.names[n % world.names.length] as JobName;
