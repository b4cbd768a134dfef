import { type Rng, seededRng } from '@millrace/foundation';
import { expect, it } from 'vitest';
import { Engine, type InboxEntry } from '../../../src/next/engine/engine.js';
import type { Command } from '../../../src/next/engine/groups/commands.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import {
  AGGREGATION_POSITION,
  chunkAddress,
  firstPosition,
} from '../../../src/next/engine/state/position.js';
import { image, waiting } from './image.js';
import { newJob, StoreModel } from './store.js';

/** Commands that no job is lost by. */
function anyCommand(rng: Rng, groupId: string, isPaused: boolean): InboxEntry[] {
  const maybe = (value: number) => rng.pick([undefined, null, value]);
  const limits = { rps: maybe(rng.integer(20, 90)), burst: maybe(rng.integer(1, 9)), concurrency: maybe(3) };
  const weight = rng.pick([undefined, 1, 2, 0.3]);
  const [tenantId = ''] = groupId.split('/');
  const position = firstPosition(chunkAddress(rng.pick([5, 9]), 0)) + rng.integer(0, 400);
  const priorityLevel = rng.pick(['high', 'normal', 'low'] as const);
  const command = rng.pick<Command>([
    { kind: 'update-group', groupId, update: { ...limits, weight, priorityLevel } },
    { kind: 'update-tenant', tenantId, update: { ...limits, weight, minShare: maybe(0.4) } },
    { kind: 'update-resource', name: 'api', update: { rps: limits.rps } },
    { kind: 'update-global', update: { rps: rng.pick([null, 200]) } },
    { kind: 'pause-all', isPaused: isPaused && rng.chance(0.3) },
    { kind: 'pause-tenant', tenantId, isPaused: isPaused && rng.chance(0.3) },
    { kind: 'pause-resource', name: 'api', isPaused: isPaused && rng.chance(0.3) },
    { kind: 'run-job', groupId, position },
  ]);
  const nonce = rng.integer(1, 2_000);
  return [{ kind: 'notice', instanceId: rng.pick(['a', 'b', 'c']), nonce, command }];
}

it.each(Array.from({ length: 8 }, (_, seed) => [seed]))('rebuilds the engine that was, seed %i', (seed) => {
  const rng = seededRng(seed);
  const config = resolveEngineConfig({
    backpressure: { globalRps: 0 },
    resources: { api: { rps: 60, concurrency: 4 } },
  });
  const calls = { types: ['T', 'U', 'V'], resources: { U: 'api' }, aggregators: ['T'] };
  const store = new StoreModel();
  let nowUs = 1_000_000_000_000_000;
  const engine = new Engine(config, rng.fork('engine'));
  engine.open(store.load(), nowUs);
  engine.receive([{ kind: 'instance', id: 'a', slots: 5, ...calls }], nowUs);
  // Only one instance has the type X, and not always.
  const types = ['X', ...calls.types];
  const announceB = (isAll: boolean) =>
    ({ kind: 'instance', id: 'b', slots: 3, ...calls, ...(isAll && { types }) }) as const;
  engine.receive([announceB(true)], nowUs);
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
        Array.from({ length: jobs }, () => newJob({ type: rng.pick(types), cost: rng.integer(1, 3) })),
        {
          settings: { weight: rng.integer(1, 3), isSealable: false, ...(rng.chance(0.3) && { rps: 50 }) },
          queue: rng.pick([5, 5, 9]),
        },
      );
    }
    if (step < 1_500 && rng.chance(0.01)) {
      submitted += 3;
      store.submit(`s/${step}`, [newJob(), newJob(), newJob()], { isSealed: true });
    }
    if (step < 1_500 && rng.chance(0.01))
      submitted += engine.redrive({ letters: store.letters(rng.integer(1, 9)) }, nowUs).moved;
    if (rng.chance(0.01)) store.inbox.push({ kind: 'letters-deleted', letters: [{ groupId, count: 1 }] });
    if (rng.chance(0.01)) store.inbox.push({ kind: 'forget-congestion', groupId });
    if (rng.chance(0.1)) store.inbox.push(...anyCommand(rng, groupId, step < 1_500));
    if (rng.chance(0.002)) {
      const deltaUs = rng.integer(-500_000_000, 100_000_000);
      nowUs += deltaUs;
      engine.clockJump(deltaUs, nowUs);
    }
    if (rng.chance(0.01)) store.inbox.push(announceB(step > 1_500 || rng.chance(0.5)));
    if (rng.chance(0.02))
      store.inbox.push({ kind: 'pause-group', groupId, isPaused: step < 1_500 && rng.chance(0.5) });
    if (step === 1_500) {
      store.inbox.push({ kind: 'pause-all', isPaused: false });
      for (const tenantId of engine.state.tenants.keys())
        store.inbox.push({ kind: 'pause-tenant', tenantId, isPaused: false });
      store.inbox.push({ kind: 'pause-resource', name: 'api', isPaused: false });
      for (const id of engine.state.groups.keys())
        store.inbox.push({ kind: 'pause-group', groupId: id, isPaused: false });
    }
    engine.receive(store.inbox.splice(0), nowUs);
    for (let left = rng.integer(0, 4); left > 0 && running.length > 0; left--) {
      const [{ instance, ...job } = running[0] as (typeof running)[number]] = running.splice(
        rng.integer(0, running.length - 1),
        1,
      );
      const outcome = rng.chance(0.1)
        ? ({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 50, spendsRetry: true } as const)
        : rng.chance(0.05)
          ? ({ kind: 'failure', code: rng.pick(['BROKEN', 'E']), isDead: rng.chance(0.5) } as const)
          : step < 1_500 && rng.chance(0.02)
            ? ({ kind: 'throttled', random: rng.next() } as const)
            : rng.chance(0.8)
              ? ({ kind: 'success' } as const)
              : ({ kind: 'success', data: '1', numbers: { [rng.pick(['n', 'm'])]: rng.next() } } as const);
      const aggregator = rng.chance(0.1) ? 'T' : undefined;
      const settlement = { ...job, durationMs: rng.integer(0, 100), outcome, aggregator };
      const counted = engine.settle(instance, settlement, nowUs);
      if (job.position === AGGREGATION_POSITION) continue;
      expect(counted).toBe(true);
      if (outcome.kind === 'success' || outcome.kind === 'failure') done += 1;
    }
    const commit = engine.commit(nowUs);
    if (!commit) continue;
    store.write(commit, engine, nowUs);
    for (const [instance, deliveries] of commit.deliveries)
      for (const { groupId: id, position, attempt } of deliveries)
        running.push({ instance, groupId: id, position, attempt });
    for (const [instance, messages] of commit.messages)
      for (const message of messages)
        if (message.kind === 'aggregate')
          running.push({
            instance,
            groupId: message.groupId,
            position: AGGREGATION_POSITION,
            attempt: message.attempt,
          });
    // What loaded chunks have changed goes with the next commit.
    if (!rng.chance(0.02) || engine.state.changes.length > 0) continue;
    const other = new Engine(config, rng.fork('other'));
    other.open(store.load(), nowUs);
    expect(image(other.state)).toEqual(image(engine.state));
    expect(waiting(other.state)).toEqual(waiting(engine.state));
  }
  expect({ done, notes: store.notes < 5_000 }).toEqual({ done: submitted, notes: true });
  const kinds = new Set(store.side.log.map(({ kind }) => kind));
  for (const kind of ['result', 'attempt', 'letter', 'letter-gone', 'line', 'round', 'chunk'] as const)
    expect(kinds).toContain(kind);
});
