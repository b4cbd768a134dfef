import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  correction,
  effectiveWeight,
  endEpoch,
  type FairClock,
  type FairTag,
  reweigh,
  serve,
  startTag,
} from '../../src/rules/sfq.js';

/** One who is served: its waiting charges, and its start tag while it has any. */
interface Flow {
  readonly name: number;
  readonly tag: FairTag;
  readonly queue: number[];
  weight: number;
  start: number;
  arrival: number;
}

/** The rule with plain arrays around it: the least start tag is served, ties by arrival. */
class Scheduler {
  readonly clock: FairClock = { virtual: 0, epoch: 1 };
  readonly flows: Flow[];
  #arrivals = 0;

  constructor(weights: readonly number[]) {
    this.flows = weights.map((weight, name) => ({
      name,
      weight,
      tag: { finish: 0, epoch: 0 },
      queue: [],
      start: 0,
      arrival: 0,
    }));
  }

  flow(name: number): Flow {
    return this.flows[name % this.flows.length] as Flow;
  }

  add(name: number, charge: number): void {
    const flow = this.flow(name);
    if (flow.queue.push(charge) > 1) return;
    flow.start = startTag(this.clock, flow.tag);
    flow.arrival = this.#arrivals++;
  }

  next(): Flow | undefined {
    const active = this.flows.filter(({ queue }) => queue.length > 0);
    return active.sort((a, b) => a.start - b.start || a.arrival - b.arrival)[0];
  }

  serve(): { flow: Flow; charge: number } | undefined {
    const flow = this.next();
    if (!flow) return undefined;
    const charge = flow.queue.shift() as number;
    serve(this.clock, flow.tag, flow.start, charge, flow.weight);
    flow.start = flow.tag.finish;
    flow.arrival = this.#arrivals++;
    if (this.next() === undefined) endEpoch(this.clock);
    return { flow, charge };
  }
}

const weight = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.double({ min: 0.05, max: 100, noNaN: true }));
const charge = fc.integer({ min: 1, max: 100 });
const op = fc.oneof(
  fc.record({ kind: fc.constant('serve' as const), flow: fc.constant(0), charge: fc.constant(0) }),
  fc.record({ kind: fc.constant('add' as const), flow: fc.nat(7), charge }),
);
const near = (value: number) => value + 1e-9 * (1 + Math.abs(value));

/** What two got while both had work waiting: how far the normalised services ran apart, either way. */
class Pair {
  #apart = 0;
  #least = 0;
  #most = 0;

  constructor(
    readonly a: Flow,
    readonly b: Flow,
  ) {}

  restart(): void {
    this.#apart = 0;
    this.#least = 0;
    this.#most = 0;
  }

  count(served: Flow, charged: number): void {
    if (served === this.a) this.#apart += charged / this.a.weight;
    if (served === this.b) this.#apart -= charged / this.b.weight;
    this.#least = Math.min(this.#least, this.#apart);
    this.#most = Math.max(this.#most, this.#apart);
  }

  expectWithin(chargeMax: readonly number[]): void {
    const bound = (flow: Flow) => (chargeMax[flow.name] as number) / flow.weight;
    expect(this.#most - this.#least).toBeLessThanOrEqual(near(bound(this.a) + bound(this.b)));
  }
}

describe('bulk-action BA-1: start-time fair queueing', () => {
  it('bulk-action BA-1: |W_i/w_i − W_j/w_j| ≤ c_i/w_i + c_j/w_j over every interval in which both have work', () => {
    fc.assert(
      fc.property(
        fc.array(weight, { minLength: 2, maxLength: 6 }),
        fc.array(op, { maxLength: 400 }),
        (weights, ops) => {
          const scheduler = new Scheduler(weights);
          const [a, b] = scheduler.flows as [Flow, Flow];
          const pair = new Pair(a, b);
          const chargeMax = weights.map(() => 0);
          for (const { kind, flow, charge: added } of ops) {
            if (a.queue.length === 0 || b.queue.length === 0) pair.restart();
            if (kind === 'add') {
              const { name } = scheduler.flow(flow);
              chargeMax[name] = Math.max(chargeMax[name] as number, added);
              scheduler.add(flow, added);
              continue;
            }
            const served = scheduler.serve();
            if (served) pair.count(served.flow, served.charge);
            pair.expectWithin(chargeMax);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-1: the bound holds for every pair in long runs with others coming and going', () => {
    fc.assert(
      fc.property(
        fc.array(weight, { minLength: 3, maxLength: 5 }),
        fc.infiniteStream(charge),
        fc.infiniteStream(fc.boolean()),
        (weights, charges, comes) => {
          const scheduler = new Scheduler(weights);
          const visitor = weights.length - 1;
          const steady = scheduler.flows.slice(0, visitor);
          const pairs = steady.flatMap((a, i) => steady.slice(i + 1).map((b) => new Pair(a, b)));
          const draw = () => charges.next().value as number;
          for (const { name } of steady) scheduler.add(name, draw());
          for (let round = 0; round < 500; round++) {
            for (const { name } of steady) scheduler.add(name, draw());
            if (comes.next().value) scheduler.add(visitor, draw());
            const served = scheduler.serve();
            if (served) for (const pair of pairs) pair.count(served.flow, served.charge);
          }
          for (const pair of pairs) pair.expectWithin(weights.map(() => 100));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('bulk-action BA-1: V never goes back while anybody has work, and nobody who waits starts before it', () => {
    fc.assert(
      fc.property(
        fc.array(weight, { minLength: 1, maxLength: 5 }),
        fc.array(op, { maxLength: 300 }),
        (weights, ops) => {
          const scheduler = new Scheduler(weights);
          for (const { kind, flow, charge: added } of ops) {
            const { virtual, epoch } = scheduler.clock;
            if (kind === 'add') scheduler.add(flow, added);
            else scheduler.serve();
            if (scheduler.clock.epoch === epoch)
              expect(scheduler.clock.virtual).toBeGreaterThanOrEqual(virtual);
            for (const { queue, start } of scheduler.flows)
              if (queue.length > 0) expect(start).toBeGreaterThanOrEqual(scheduler.clock.virtual);
          }
        },
      ),
    );
  });

  it('bulk-action BA-1: nobody is starved: every waiting job is served after finitely many others', () => {
    const scheduler = new Scheduler([1000, 1000, 0.5]);
    for (const name of [0, 1]) for (let job = 0; job < 10_000; job++) scheduler.add(name, 1);
    scheduler.add(2, 1);
    scheduler.add(2, 1);
    const places: number[] = [];
    for (let turn = 1; places.length < 2; turn++) if (scheduler.serve()?.flow.name === 2) places.push(turn);
    // Its weight is a 4,001st of all, so its second job comes after about 4,000 others.
    expect(places[0]).toBeLessThanOrEqual(3);
    expect(places[1]).toBeLessThanOrEqual(4004);
  });

  it('bulk-action BA-1: a newcomer behind 100,000 queued jobs is served next', () => {
    const scheduler = new Scheduler([1, 1]);
    for (let job = 0; job < 100_000; job++) scheduler.add(0, 1);
    for (let turn = 0; turn < 50; turn++) scheduler.serve();
    scheduler.add(1, 1);
    expect(scheduler.serve()?.flow.name).toBe(1);
  });

  it('bulk-action BA-1: leaving and coming back earns no credit and costs nothing', () => {
    const scheduler = new Scheduler([1, 1]);
    for (let job = 0; job < 200; job++) scheduler.add(0, 1);
    scheduler.add(1, 1);
    for (let turn = 0; turn < 100; turn++) scheduler.serve();
    for (let job = 0; job < 50; job++) scheduler.add(1, 1);
    const turns = Array.from({ length: 20 }, () => scheduler.serve()?.flow.name);
    expect(turns.filter((name) => name === 1)).toHaveLength(10);
  });

  it('bulk-action BA-1: coming one by one does not beat keeping a queue', () => {
    const scheduler = new Scheduler([1, 1]);
    for (let job = 0; job < 200; job++) scheduler.add(0, 1);
    let served = 0;
    for (let turn = 0; turn < 100; turn++) {
      if (scheduler.flow(1).queue.length === 0) scheduler.add(1, 1);
      if (scheduler.serve()?.flow.name === 1) served++;
    }
    expect(served).toBe(50);
  });

  it('bulk-action BA-1: ties go to whoever came first, not to a name', () => {
    const scheduler = new Scheduler([1, 1, 1]);
    for (const name of [2, 0, 1]) for (let job = 0; job < 3; job++) scheduler.add(name, 1);
    const order = Array.from({ length: 9 }, () => scheduler.serve()?.flow.name);
    expect(order).toEqual([2, 0, 1, 2, 0, 1, 2, 0, 1]);
  });

  it('bulk-action BA-1: a new weight acts at once on work already queued', () => {
    const factors = fc.constantFrom(0.01, 0.1, 0.5, 2, 10, 100);
    fc.assert(
      fc.property(weight, weight, factors, fc.nat(60), (one, other, factor, before) => {
        const scheduler = new Scheduler([one, other]);
        for (let job = 0; job < 400; job++) for (const name of [0, 1]) scheduler.add(name, 1 + (job % 3));
        for (let turn = 0; turn < before; turn++) scheduler.serve();
        const [changed, steady] = scheduler.flows as [Flow, Flow];
        changed.tag.finish = reweigh(scheduler.clock, changed.tag.finish, one, one * factor);
        changed.start = reweigh(scheduler.clock, changed.start, one, one * factor);
        changed.weight = one * factor;
        const pair = new Pair(changed, steady);
        for (let turn = 0; turn < 300 && changed.queue.length > 0 && steady.queue.length > 0; turn++) {
          const served = scheduler.serve();
          if (served) pair.count(served.flow, served.charge);
        }
        pair.expectWithin([3, 3]);
      }),
    );
  });

  it('bulk-action BA-1: a weight lowered by a thousand and raised again leaves the tag where it was', () => {
    const clock: FairClock = { virtual: 40, epoch: 1 };
    const low = reweigh(clock, 50, 1, 0.001);
    expect(low).toBeCloseTo(40 + 10_000, 6);
    expect(reweigh(clock, low, 0.001, 1)).toBeCloseTo(50, 6);
  });

  it('bulk-action BA-1: when nothing is active a new epoch makes old tags count as 0', () => {
    const scheduler = new Scheduler([0.01, 1]);
    for (const charged of [50, 100]) scheduler.add(0, charged);
    scheduler.serve();
    scheduler.serve();
    expect(scheduler.clock).toEqual({ virtual: 0, epoch: 2 });
    expect(scheduler.flow(0).tag.finish).toBe(15_000);
    expect(startTag(scheduler.clock, scheduler.flow(0).tag)).toBe(0);
    for (const name of [0, 1]) scheduler.add(name, 1);
    expect(scheduler.serve()?.flow.name).toBe(0);
    expect(scheduler.flow(0).tag.epoch).toBe(2);
  });

  it('bulk-action BA-1: a corrected charge is as if the real one had been known', () => {
    const amount = fc.integer({ min: 0, max: 5000 });
    fc.assert(
      fc.property(weight, amount, amount, fc.nat(1000), (each, charged, real, start) => {
        const clock: FairClock = { virtual: start, epoch: 3 };
        const estimated: FairTag = { finish: 0, epoch: 0 };
        serve(clock, estimated, start, charged, each);
        const known: FairTag = { finish: 0, epoch: 0 };
        serve(clock, known, start, real, each);
        const corrected = estimated.finish + correction(clock, estimated.epoch, charged, real, each);
        expect(corrected).toBeCloseTo(known.finish, 5);
      }),
    );
  });

  it('bulk-action BA-1: a credit never exceeds the charge, whatever was measured', () => {
    const clock: FairClock = { virtual: 7, epoch: 2 };
    const measured = fc.oneof(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), fc.constant(0));
    fc.assert(
      fc.property(weight, fc.double({ min: 0, max: 1e6, noNaN: true }), measured, (each, charged, real) => {
        expect(correction(clock, 2, charged, real, each)).toBeGreaterThanOrEqual(-charged / each);
      }),
    );
  });

  it('bulk-action BA-1: a charge of an epoch that has ended is not corrected any more', () => {
    const clock: FairClock = { virtual: 7, epoch: 2 };
    expect(correction(clock, 1, 10, 500, 1)).toBe(0);
    endEpoch(clock);
    expect(correction(clock, 2, 10, 500, 1)).toBe(0);
  });

  it('bulk-action BA-1: levels are weights, and alpha lifts nearly finished groups by a bounded factor', () => {
    expect(effectiveWeight(2, 8, 0, 50, 100)).toBe(16);
    expect(effectiveWeight(1, 4, 1, 0, 0)).toBe(4);
    expect(effectiveWeight(1, 4, 1, 50, 100)).toBe(6);
    expect(effectiveWeight(1, 4, 1, 100, 100)).toBe(8);
    const scheduler = new Scheduler([8, 4, 1].map((level) => effectiveWeight(1, level, 0, 0, 1)));
    for (const name of [0, 1, 2]) for (let job = 0; job < 1000; job++) scheduler.add(name, 1);
    const served = [0, 0, 0];
    for (let turn = 0; turn < 1300; turn++) {
      const { flow } = scheduler.serve() as { flow: Flow };
      served[flow.name] = (served[flow.name] as number) + 1;
    }
    [800, 400, 100].forEach((fair, name) => {
      expect(Math.abs((served[name] as number) - fair)).toBeLessThanOrEqual(8);
    });
  });
});
