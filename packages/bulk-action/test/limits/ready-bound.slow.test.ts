import { describe, expect, it } from 'vitest';
import type { QueuesView } from '../../src/model.js';
import { DirectEngine } from '../fairness/direct-engine.js';
import { VirtualEngine, type VirtualEngineOptions } from '../fairness/virtual-engine.js';

const HORIZON_MS = 50;
const DRAIN_MS = 2000;

/**
 * Checks after every step that ready holds at most the waiting slots plus the horizon of drain, where the drain is
 * counted here: starts of the last 2 s.
 */
class ReadyWatch {
  samples = 0;
  highest = 0;
  /** Times at which ready was at its bound: the bound is what held it. */
  atBound = 0;
  readonly broken: string[] = [];
  readonly #engine: () => VirtualEngine;
  #oldest = 0;
  #ready = 0;

  constructor(engine: () => VirtualEngine) {
    this.#engine = engine;
  }

  look(step: string, queues: QueuesView): void {
    const grown = queues.ready > this.#ready;
    this.#ready = queues.ready;
    const { recording, clock } = this.#engine();
    const { starts } = recording;
    const now = clock.monotonicMs();
    const first = starts[0]?.at;
    while ((starts[this.#oldest]?.at ?? now) < now - DRAIN_MS) this.#oldest += 1;
    // After an idle time the drain is unknown, and another bound holds.
    if (first === undefined || (this.#oldest === starts.length && queues.inFlight === 0)) return;
    this.samples += 1;
    const seconds = Math.min(DRAIN_MS, Math.max(100, now - first)) / 1000;
    const drain = (starts.length - this.#oldest) / seconds;
    const bound = Math.max(1, queues.waitingSlots + Math.ceil((drain * HORIZON_MS) / 1000));
    this.highest = Math.max(this.highest, queues.ready);
    if (queues.ready >= queues.readyBound) this.atBound += 1;
    // A bound that has shrunk takes nothing back; it lets nothing more in.
    if (grown && queues.ready > bound)
      this.broken.push(`${step} at ${now}: ready ${queues.ready}, bound ${bound}, drain ${drain}`);
  }
}

function watched(seed: string, options: Omit<VirtualEngineOptions, 'seed' | 'onStep'>) {
  const watch = new ReadyWatch(() => engine);
  const engine = new VirtualEngine({
    ...options,
    seed,
    onStep: (step, queues) => watch.look(step, queues),
  });
  return { engine, watch };
}

const pool = (workerCount: number) => ({
  workerPool: { workerCount },
  backpressure: { globalRps: 0, readyHorizonMs: HORIZON_MS },
});

describe('bulk-action BA-2: ready is short', () => {
  it('bulk-action BA-2: ready never holds more than the waiting slots and the horizon of drain', async () => {
    const { engine, watch } = watched('steady', {
      instances: 2,
      roundTripMs: 1,
      latenessMs: 2,
      config: pool(16),
      serviceMs: (_job, rng) => rng.exponential(40) * (rng.chance(0.1) ? -1 : 1),
    });
    for (const tenant of ['a', 'b', 'c']) await engine.submit({ id: `${tenant}/g` }, 4000);
    await engine.run(() => engine.pass(10_000));
    expect(watch.broken.slice(0, 3), `${watch.broken.length} of ${watch.samples} samples`).toEqual([]);
    expect(watch.samples).toBeGreaterThan(5000);
    expect(watch.atBound, 'times at the bound').toBeGreaterThan(100);
  });

  it('bulk-action BA-2: also when the load comes and goes and jobs become slow', async () => {
    const { engine, watch } = watched('changing', {
      config: pool(20),
      serviceMs: (_job, rng) => rng.exponential(engine.clock.monotonicMs() > 8000 ? 4000 : 20),
    });
    for (const at of [0, 2500, 6000, 7900])
      engine.clock.at(at, () => void engine.submit({ id: `t${at}/g` }, 1500));
    await engine.run(() => engine.pass(30_000));
    expect(watch.broken.slice(0, 3), `${watch.broken.length} of ${watch.samples} samples`).toEqual([]);
  });

  it('bulk-action BA-2: also while every worker is busy for longer than the drain is measured', async () => {
    const { engine, watch } = watched('all busy', { config: pool(10), serviceMs: () => 10_000 });
    await engine.submit({ id: 'a/g' }, 500);
    await engine.run(() => engine.pass(60_000));
    expect(watch.broken.slice(0, 3), `${watch.broken.length} of ${watch.samples} samples`).toEqual([]);
  });

  it('bulk-action BA-2: jobs of a parked group are not popped: they stay in their lane', async () => {
    const { engine } = watched('not popped', { config: pool(10), serviceMs: () => 20 });
    await engine.submit({ id: 'a/limited', rps: 5 }, 1000);
    await engine.submit({ id: 'b/free' }, 4000);
    let [highest, parked] = [0, 0];
    await engine.run(async () => {
      for (let n = 0; n < 50; n++) {
        await engine.pass(97);
        const group = await engine.store.views.group('a/limited');
        const { ready = 0, nonReady = 0 } = group?.counts ?? {};
        highest = Math.max(highest, ready + nonReady);
        parked += (await engine.store.views.queues()).parkedGroups;
      }
    });
    expect(highest, 'ready and non-ready of the limited group').toBeLessThanOrEqual(1);
    expect(parked, 'looks at which it was parked').toBeGreaterThan(45);
    const progress = await engine.service.getProgress('a/limited');
    expect(progress.registered - progress.pending).toBeLessThanOrEqual(26);
    expect(engine.recording.rateDenied, 'starts refused').toBe(0);
  });

  it('bulk-action BA-2: a fetch that finds only parked groups moves nothing and says when to come again', async () => {
    const engine = new DirectEngine({ seed: 'parked only', slots: 10 });
    for (let n = 0; n < 20; n++) await engine.submit({ id: `t${n}/g`, rps: 0.5 }, 3);
    await engine.start(20);
    const again = await engine.store.gate.fetch(50);
    expect(again).toMatchObject({ ready: 0, nonReady: 0, room: true });
    expect(again.nextInMs).toBeGreaterThan(1900);
    expect(again.nextInMs).toBeLessThanOrEqual(2000);
    expect(await engine.store.views.queues()).toMatchObject({
      ready: 0,
      nonReady: 0,
      lane: 40,
      parkedGroups: 20,
    });
  });
});
