import { seededRng } from '@millrace/foundation';
import { expect, it } from 'vitest';
import { Engine } from '../../../src/next/engine/engine.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import { image } from './image.js';
import { newJob, StoreModel } from './store.js';

it.each(Array.from({ length: 20 }, (_, seed) => [seed]))('rebuilds the engine that was, seed %i', (seed) => {
  const rng = seededRng(seed);
  const config = resolveEngineConfig({
    backpressure: { globalRps: 0 },
    resources: { api: { rps: 60, concurrency: 4 } },
  });
  const calls = { types: ['T', 'U', 'V'], resources: { U: 'api' } };
  const store = new StoreModel();
  let nowUs = 1_000_000_000;
  const engine = new Engine(config, rng.fork('engine'));
  engine.open(store.load(), nowUs);
  engine.receive([{ kind: 'instance', id: 'a', slots: 5, ...calls }], nowUs);
  engine.receive([{ kind: 'instance', id: 'b', slots: 3, ...calls }], nowUs);
  const running: { instance: string; groupId: string; position: number; attempt: number }[] = [];
  let submitted = 0;
  let done = 0;
  for (let step = 0; step < 3_000 || (done < submitted && step < 20_000); step++) {
    nowUs += rng.integer(0, 20_000);
    const groupId = `${rng.pick(['x', 'y', 'z'])}/g${rng.integer(0, 5)}`;
    if (step < 1_500 && rng.chance(0.1)) {
      const jobs = rng.integer(1, rng.chance(0.1) ? 200 : 5);
      submitted += jobs;
      store.submit(
        groupId,
        Array.from({ length: jobs }, () => newJob({ type: rng.pick(calls.types), cost: rng.integer(1, 3) })),
        {
          settings: { weight: rng.integer(1, 3), isSealable: false, ...(rng.chance(0.3) && { rps: 50 }) },
          queue: rng.pick([5, 5, 9]),
        },
      );
    }
    if (rng.chance(0.01)) store.inbox.push({ kind: 'forget-congestion', groupId });
    if (rng.chance(0.02))
      store.inbox.push({ kind: 'pause-group', groupId, isPaused: step < 1_500 && rng.chance(0.5) });
    if (step === 1_500)
      for (const id of engine.state.groups.keys())
        store.inbox.push({ kind: 'pause-group', groupId: id, isPaused: false });
    engine.receive(store.inbox.splice(0), nowUs);
    for (let left = rng.integer(0, 4); left > 0 && running.length > 0; left--) {
      const [{ instance, ...job } = running[0] as (typeof running)[number]] = running.splice(
        rng.integer(0, running.length - 1),
        1,
      );
      const outcome = rng.chance(0.1)
        ? ({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 50, spendsRetry: true } as const)
        : rng.chance(0.05)
          ? ({ kind: 'failure', code: 'BROKEN' } as const)
          : step < 1_500 && rng.chance(0.02)
            ? ({ kind: 'throttled', random: rng.next() } as const)
            : ({ kind: 'success' } as const);
      const counted = engine.settle(instance, { ...job, durationMs: rng.integer(0, 100), outcome }, nowUs);
      expect(counted).toBe(true);
      if (outcome.kind === 'success' || outcome.kind === 'failure') done += 1;
    }
    const commit = engine.commit(nowUs);
    if (!commit) continue;
    store.write(commit, engine, nowUs);
    for (const [instance, deliveries] of commit.deliveries)
      for (const { groupId: id, position, attempt } of deliveries)
        running.push({ instance, groupId: id, position, attempt });
    if (!rng.chance(0.02)) continue;
    const other = new Engine(config, rng.fork('other'));
    other.open(store.load(), nowUs);
    expect(image(other.state)).toEqual(image(engine.state));
    expect(waiting(other.state)).toEqual(waiting(engine.state));
  }
  expect({ done, notes: store.notes < 5_000 }).toEqual({ done: submitted, notes: true });
});
