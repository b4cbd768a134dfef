import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunRef } from '../../src/model.js';
import { BACKED, CANCELLED, FAIL, type Home, OK, RELEASED, RETRY } from '../contract/home.js';
import { openWorld, type World } from './world.js';

describe('several instances at once', () => {
  let world: World;
  let homes: readonly Home[];
  beforeAll(async () => {
    world = await openWorld();
    homes = await Promise.all([world.join(), world.join(), world.join(), world.join()]);
  }, 60_000);
  afterAll(() => world.end());

  const first = (): Home => homes[0] as Home;
  const everywhere = <T>(times: number, call: (home: Home) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: times }, (_, n) => call(homes[n % homes.length] as Home)));

  it('orchestrator NFR-3: 100 submits of one key from four instances store one operation', async () => {
    const given = Array.from({ length: 100 }, () => first().wish({ idemKey: 'same' }));
    const answers = await Promise.all(
      given.map((one, n) => (homes[n % homes.length] as Home).store.runs.accept(one)),
    );
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'known')).toHaveLength(99);
  });

  it('orchestrator NFR-3: an expired key gets one new operation', async () => {
    await first().settled(OK, { idemKey: 'expired' });
    const given = Array.from({ length: 40 }, () => first().wish({ idemKey: 'expired', keyTtlMs: 0 }));
    const answers = await Promise.all(
      given.map((one, n) => (homes[n % homes.length] as Home).store.runs.accept(one)),
    );
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'known')).toHaveLength(39);
  });

  it('orchestrator NFR-3: many keys in any order wait for nobody in a circle', async () => {
    const keys = Array.from({ length: 30 }, (_, n) => `key-${n}`);
    const accepts = homes.map((home, n) =>
      Promise.all(
        (n % 2 ? keys.toReversed() : keys).map((idemKey) =>
          home.store.runs.accept(first().wish({ idemKey })),
        ),
      ),
    );
    const answers = (await Promise.all(accepts)).flat();
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(keys.length);
  });

  it('orchestrator NFR-3: nobody claims what another one has', async () => {
    const refs = await Promise.all(
      Array.from({ length: 80 }, () => first().settled(RELEASED, { domain: 'CLAIMED' })),
    );
    const taken: RunRef[] = [];
    for (let round = 0; taken.length < refs.length && round < 50; round++)
      taken.push(...(await everywhere(8, (home) => home.claim(7, ['CLAIMED.PLACE']))).flat());
    expect(taken.map(({ opId }) => opId).sort()).toEqual(refs.map(({ opId }) => opId).sort());
    expect(new Set(taken.map(({ token }) => token))).toEqual(new Set([2]));
  });

  it('orchestrator NFR-2: settle, cancel, reap and the end of a backing cross: one outcome, and nobody is told another', async () => {
    for (let round = 0; round < 25; round++) {
      const ref = await first().running({ leaseMs: 0, kind: round % 2 ? 'bulk' : 'inline', onLost: 'fail' });
      const { opId } = ref;
      const [one, two, three, four] = homes as [Home, Home, Home, Home];
      const answers = await Promise.all([
        one.store.runs.settle(ref, OK),
        two.store.repairs.cancel(opId, CANCELLED),
        three.store.repairs.reap(50),
        four.store.repairs.endBacked(opId, FAIL),
        one.store.runs.extend([ref], 0),
        two.store.views.watch([opId], 10),
      ]);
      await first().store.repairs.finalize(opId);
      const operation = await first().get(opId);
      expect(operation.endedAt).toBeDefined();
      const [settled, , reaped, ended] = answers;
      for (const answer of [settled, ended])
        if (answer.kind === 'settled') expect(answer.operation.outcome).toEqual(operation.outcome);
      for (const one of reaped)
        if (one.operation.opId === opId && one.became === 'failed')
          expect(one.operation.outcome).toEqual(operation.outcome);
      expect(await first().get(opId)).toEqual(operation);
    }
  });

  it('orchestrator NFR-2: whatever crosses whatever, nothing is stuck and everything can still be ended', async () => {
    const wishes = Array.from({ length: 40 }, (_, n) => ({ kind: n % 3 ? 'inline' : 'bulk', leaseMs: 5 }));
    const refs = await Promise.all(wishes.map((wish) => first().pending(wish)));
    const ids = refs.map(({ opId }) => opId);
    await everywhere(60, async (home) => {
      const { runs, repairs, views } = home.store;
      await Promise.all([
        runs.begin(refs),
        runs.extend(refs, 5),
        views.watch(ids.toReversed(), 5),
        repairs.reap(20),
        home.claim(5),
        Promise.all(
          refs.slice(0, 10).map((ref) => runs.settle(ref, ref.opId < (ids[5] ?? '') ? RETRY : BACKED)),
        ),
        repairs.prune(1e9, 10),
      ]);
    });
    for (const opId of ids) await first().store.repairs.cancel(opId, CANCELLED);
    const allEnded = async () => {
      await first().store.repairs.reap(100);
      await Promise.all(ids.map((opId) => first().store.repairs.finalize(opId)));
      return (await first().store.views.watch(ids, 0)).every(({ endedAt }) => endedAt !== undefined);
    };
    await until(allEnded, { what: 'all operations to end', deadlineMs: 15_000 });
  });
});
