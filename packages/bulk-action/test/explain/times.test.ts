import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import type { BulkActionConfig } from '../../src/options.js';
import type { GroupDefinition } from '../../src/ports.js';
import { type Explanation, explainJob } from '../../src/rules/explain.js';
import { openMemory } from '../memory/open-memory.js';
import {
  deadly,
  fill,
  group,
  Instance,
  jobs,
  numbers,
  retry,
  type StoreHarness,
  success,
  sweepAll,
} from '../store-contract/tools.js';
import { anyWorld, pick, World } from './world.js';

const KEY = '/g';
const FREE: BulkActionConfig = { backpressure: { globalRps: 0 } };

async function explain({ store }: StoreHarness, jobId: string, key = KEY): Promise<Explanation> {
  const facts = await store.views.explain(key, jobId);
  if (!facts) throw new Error(`expected facts about ${jobId}, got none`);
  return explainJob(facts);
}

describe('bulk-action BA-2: when a gate opens', () => {
  const group3 = group(KEY, { tenantId: 't', rps: 3, burst: 1 });
  const plain = group(KEY, { tenantId: 't' });
  const cases: [string, BulkActionConfig, GroupDefinition, (harness: StoreHarness) => Promise<void>][] = [
    ['GROUP_RATE', FREE, group3, async () => {}],
    ['TENANT_RATE', FREE, plain, (harness) => harness.store.groups.updateTenant('t', { rps: 7, burst: 1 })],
    ['GLOBAL_RATE', { backpressure: { globalRps: 13, burst: 1 } }, plain, async () => {}],
  ];

  it.each(cases)(
    'bulk-action BA-2: %s: closed 1 ms before it said, open then',
    async (gate, config, definition, limit) => {
      const harness = openMemory(config);
      const one = new Instance(harness);
      await limit(harness);
      await fill(harness, definition, 2);
      await one.exactly(1);
      const [view] = (await explain(harness, 'j1')).gates;
      expect(view).toMatchObject({ gate, opensInMs: expect.any(Number) });
      const opensInMs = view?.opensInMs as number;
      expect((await explain(harness, 'j1')).etaMs).toBe(opensInMs);
      await harness.advance(opensInMs - 1);
      expect(await one.take()).toEqual([]);
      await harness.advance(1);
      expect((await one.take()).map(({ jobId }) => jobId)).toEqual(['j1']);
    },
  );

  it('bulk-action BA-2: BACK_OFF: closed 1 ms before it said, open then', async () => {
    const harness = openMemory(FREE);
    const one = new Instance(harness);
    await fill(harness, group(KEY), 1);
    const [lease] = await one.exactly(1);
    await harness.store.leases.settle([retry(lease, { delayMs: 1234 })]);
    const explanation = await explain(harness, 'j0');
    expect(explanation).toMatchObject({ gate: 'BACK_OFF', gates: [{ opensInMs: 1234 }], etaMs: 1234 });
    const take = async () => {
      await harness.store.gate.dispatch(10);
      return one.take();
    };
    await harness.advance(1233);
    expect(await take()).toEqual([]);
    expect((await explain(harness, 'j0')).gates).toMatchObject([{ gate: 'BACK_OFF', opensInMs: 1 }]);
    await harness.advance(1);
    expect(await take()).toHaveLength(1);
  });

  it('bulk-action BA-2: in any world at rest a gate opens when it said, not 1 ms earlier', async () => {
    let met = 0;
    await fc.assert(
      fc.asyncProperty(anyWorld, async (plan) => {
        const world = await World.of(plan);
        const name = pick(world, plan.target);
        await world.drive();
        for (const { gate, opensInMs } of (await world.explain(name)).gates) {
          if (opensInMs === undefined || opensInMs === 0) continue;
          // A world of its own for each gate: the time of this one has gone on.
          const other = await World.of(plan);
          await other.drive();
          const opens = async () =>
            (await other.explain(name)).gates.find((view) => view.gate === gate)?.opensInMs ?? 0;
          await other.harness.advance(opensInMs - 1);
          expect(await opens(), `${gate} 1 ms before`).toBe(1);
          await other.harness.advance(1);
          expect(await opens(), `${gate} then`).toBe(0);
          met += 1;
        }
      }),
      { numRuns: 300 },
    );
    expect(met).toBeGreaterThan(30);
  });

  it('bulk-action BA-2: tokens that are held by ready jobs nobody takes: it does not promise a time', async () => {
    const harness = openMemory(FREE);
    await fill(harness, group3, 2);
    await harness.store.gate.fetch(1);
    const { gates, etaMs } = await explain(harness, 'j1');
    expect(gates).toEqual([
      expect.objectContaining({ gate: 'NO_PROCESSOR' }),
      expect.objectContaining({ gate: 'GROUP_RATE' }),
    ]);
    expect(gates[1]).not.toHaveProperty('opensInMs');
    expect(etaMs).toBeNull();
  });
});

/** Workers that take 50 ms for a job, and loops that look every 10 ms. */
class Line {
  readonly harness: StoreHarness;
  readonly #one: Instance;
  #running: { readonly lease: LeasedJob; readonly endsAt: number }[] = [];
  readonly started = new Map<string, number>();
  nowMs = 0;

  constructor(
    config: BulkActionConfig,
    readonly slots: number,
  ) {
    this.harness = openMemory(config);
    this.#one = new Instance(this.harness, 'one', slots);
  }

  async run(ms: number): Promise<void> {
    for (const end = this.nowMs + ms; this.nowMs < end; ) await this.#tick(10);
  }

  async #tick(ms: number): Promise<void> {
    await this.harness.advance(ms);
    this.nowMs += ms;
    const over = this.#running.filter(({ endsAt }) => endsAt <= this.nowMs);
    this.#running = this.#running.filter(({ endsAt }) => endsAt > this.nowMs);
    await this.harness.store.leases.settle(over.map(({ lease }) => success(lease, 50)));
    await this.#one.beat({ waiting: this.#free });
    await this.harness.store.gate.fetch(50);
    for (const lease of this.#free > 0 ? await this.#one.reserve(this.#free) : []) {
      this.#running.push({ lease, endsAt: this.nowMs + 50 });
      this.started.set(`${lease.key} ${lease.jobId}`, this.nowMs);
    }
  }

  get #free(): number {
    return this.slots - this.#running.length;
  }
}

describe('bulk-action BA-2: the ETA of a job', () => {
  const lines: [string, Partial<GroupDefinition>, number][] = [
    ['alone on 4 workers', {}, 0],
    ['held to 20 per second', { rps: 20 }, 0],
    ['one at a time', { concurrency: 1 }, 0],
    ['beside two other tenants', {}, 2],
    ['beside two others of four times the weight', { priorityLevel: 'low' }, 2],
  ];

  it.each(lines)(
    'bulk-action BA-2: of a group that runs steadily is within 50 %%: %s',
    async (_, fields, others) => {
      const line = new Line(FREE, 4);
      await fill(line.harness, group(KEY, fields), 400);
      for (const n of numbers(others)) await fill(line.harness, group(`/other${n}`), 900);
      await line.run(3000);
      for (const ahead of [5, 30]) {
        const waiting = numbers(400)
          .map((n) => `j${n}`)
          .filter((id) => !line.started.has(`${KEY} ${id}`));
        const id = waiting[ahead] as string;
        const { etaMs, position } = await explain(line.harness, id);
        expect(position.jobsAhead).toBeGreaterThan(0);
        const askedAt = line.nowMs;
        while (!line.started.has(`${KEY} ${id}`)) await line.run(10);
        const realMs = (line.started.get(`${KEY} ${id}`) as number) - askedAt;
        expect(etaMs, `said ${etaMs}, took ${realMs}`).toBeGreaterThan(0.5 * realMs);
        expect(etaMs, `said ${etaMs}, took ${realMs}`).toBeLessThan(1.5 * realMs);
      }
    },
  );

  it('bulk-action BA-2: nothing has run yet: null, but 0 for a job that can start', async () => {
    const harness = openMemory(FREE);
    await new Instance(harness, 'one', 1).beat();
    await fill(harness, group(KEY), 3);
    expect(await explain(harness, 'j0')).toMatchObject({ gate: 'WORKER', gates: [], etaMs: 0 });
    expect(await explain(harness, 'j2')).toMatchObject({ gate: 'TURN', etaMs: null });
  });

  it('bulk-action BA-2: paused, without a processor: null, however fast the group was', async () => {
    const line = new Line(FREE, 4);
    await fill(line.harness, group(KEY), 100);
    await fill(
      line.harness,
      group('/rare'),
      jobs(1, { processorType: 'rare', notBefore: Date.UTC(2027, 0) }),
    );
    await line.run(500);
    expect((await explain(line.harness, 'j99')).etaMs).toBeGreaterThan(0);
    await line.harness.store.groups.pause(KEY);
    expect(await explain(line.harness, 'j99')).toMatchObject({ gate: 'PAUSED', etaMs: null });
    expect(await explain(line.harness, 'j0', '/rare')).toMatchObject({ gate: 'BACK_OFF', etaMs: null });
  });
});

describe('bulk-action BA-2: a job that waits for nothing', () => {
  async function taken(count: number) {
    const harness = openMemory(FREE);
    await fill(harness, group(KEY), count);
    const leases = await new Instance(harness).take(count);
    return { harness, leases };
  }

  it('bulk-action BA-2: in flight it is RUNNING, afterwards DONE', async () => {
    const { harness, leases } = await taken(3);
    expect(await explain(harness, 'j0')).toMatchObject({ gate: 'RUNNING', etaMs: 0 });
    const [first, second] = leases as [LeasedJob, LeasedJob];
    await harness.store.leases.settle([success(first), deadly(second)]);
    const done = { gate: 'DONE', etaMs: null };
    expect(await explain(harness, 'j0')).toMatchObject({ ...done, job: { status: 'COMPLETED' } });
    expect(await explain(harness, 'j1')).toMatchObject({ ...done, job: { status: 'FAILED', place: 'DEAD' } });
  });

  it('bulk-action BA-2: of a cancelled group it is DONE at once, in flight or not, swept or not', async () => {
    const { harness } = await taken(1);
    await fill(harness, group(KEY), jobs(3, {}, 'late'));
    await harness.store.gate.fetch(1);
    await harness.store.groups.cancel(KEY);
    for (const swept of [false, true]) {
      if (swept) await sweepAll(harness);
      for (const id of ['j0', 'late0', 'late1', 'late2'])
        expect(await explain(harness, id), id).toMatchObject({
          gate: 'DONE',
          gates: [{ detail: expect.stringContaining('CANCELLED') }],
          etaMs: null,
        });
    }
  });

  it('bulk-action BA-2: a job or a group that nobody knows has no facts', async () => {
    const { harness } = await taken(1);
    expect(await harness.store.views.explain(KEY, 'nobody')).toBeUndefined();
    expect(await harness.store.views.explain('/nowhere', 'j0')).toBeUndefined();
  });
});
