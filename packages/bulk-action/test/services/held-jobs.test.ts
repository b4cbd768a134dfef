import { describe, expect, it } from 'vitest';
import { aroundCall, forEver, losingAnswers, unavailable } from '../pool/bench.js';
import { byHand } from './by-hand.js';

const LOST = { code: 'LEASE_LOST' };

describe('bulk-action BA-15: jobs taken by hand', () => {
  it('bulk-action BA-15: a job whose reservation was not heard of goes to the next caller', async () => {
    const { engine, submit, counts } = byHand(
      {},
      { around: (store) => aroundCall(store, 'leases', 'reserve', losingAnswers(1)) },
    );
    await submit('g', 2);
    await expect(engine.held.take('', 1)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(await counts('g')).toMatchObject({ inFlight: 1 });
    expect((await engine.held.take('', 1))?.id).toBe('j0');
    expect((await engine.held.take('', 1))?.id).toBe('j1');
    expect(await engine.held.take('', 1)).toBeUndefined();
    expect(await counts('g')).toMatchObject({ inFlight: 2, pending: 0 });
  });

  it('bulk-action BA-15: many who take at once get one job each', async () => {
    const { engine, submit } = byHand();
    await submit('g', 10);
    const taken = await Promise.all(Array.from({ length: 12 }, () => engine.held.take('', 1)));
    const ids = taken.flatMap((job) => (job ? [job.id] : []));
    expect(new Set(ids).size).toBe(10);
    expect(engine.held.size).toBe(10);
  });

  it('bulk-action BA-15: a result whose answer was lost may be said again and counts once', async () => {
    const { engine, submit, counts } = byHand(
      {},
      { around: (store) => aroundCall(store, 'leases', 'settle', losingAnswers(1)) },
    );
    await submit('g', 1);
    await engine.held.take('', 1);
    const held = engine.held.need('/g', 'j0');
    await expect(engine.held.settle(held, { kind: 'success' })).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    });
    expect(await engine.held.settle(held, { kind: 'success' })).toMatchObject({
      status: 'accepted',
      groupStatus: 'COMPLETED',
    });
    expect(engine.held.size).toBe(0);
    expect(await counts('g')).toMatchObject({ success: 1 });
  });

  it('bulk-action BA-15: after its lease was lost, a result changes nothing', async () => {
    const { engine, submit, counts, clock } = byHand({ reliableQueue: { ackTimeoutMs: 1000 } });
    await submit('g', 1);
    await engine.held.take('', 1);
    const held = engine.held.need('/g', 'j0');
    await clock.advance(900);
    expect(await engine.held.renew(held)).toBe(true);
    await clock.advance(900);
    expect(await engine.held.renew(held)).toBe(true);
    await clock.advance(1001);
    await engine.pool.orphanRecovery.recoverOnce();
    expect(await engine.held.renew(held)).toBe(false);
    await expect(engine.held.settle(held, { kind: 'success' })).rejects.toMatchObject(LOST);
    expect(await counts('g')).toMatchObject({ success: 0, nonReady: 1, inFlight: 0 });
    expect(engine.held.size).toBe(0);
    expect(() => engine.held.need('/g', 'j0')).toThrow(expect.objectContaining(LOST));
  });

  it('bulk-action BA-15: who never comes back for a job is forgotten', async () => {
    const { engine, submit, clock } = byHand({ reliableQueue: { ackTimeoutMs: 1000 } });
    await submit('g', 3);
    await engine.held.take('', 1);
    await engine.held.take('', 1);
    await clock.advance(9000);
    await engine.held.renew(engine.held.need('/g', 'j0'));
    await clock.advance(1001);
    await engine.held.take('', 1);
    expect(['j0', 'j1', 'j2'].map((id) => engine.held.find('/g', id) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('bulk-action BA-10: the end of the engine gives them back, and nothing is taken any more', async () => {
    const { engine, submit, counts, lines, memory, job } = byHand();
    await engine.start();
    await submit('g', 3);
    await engine.held.take('', 1);
    await engine.held.take('', 1);
    await engine.stop();
    expect(await counts('g')).toMatchObject({ pending: 3, inFlight: 0 });
    expect(await job('g', 'j0')).toMatchObject({ status: 'PENDING', retryCount: 0, orphanCount: 0 });
    expect(lines.map(({ message }) => message)).toContain('2 jobs taken by hand given back');
    expect(await memory.instances.list()).toEqual([]);
    expect(await engine.held.take('', 1)).toBeUndefined();
  });

  it.each([
    ['is down', () => Promise.reject(unavailable())],
    ['hangs for ever', forEver],
  ])('bulk-action BA-10: the end comes within 5 s while the store %s', async (_, fail) => {
    const { engine, submit, clock, lines } = byHand(
      {},
      { around: (store) => aroundCall(store, 'leases', 'giveBackAll', fail) },
    );
    await submit('g', 1);
    await engine.held.take('', 1);
    let ended = false;
    const stopping = engine.held.stop().then(() => {
      ended = true;
    });
    await clock.advance(5000);
    expect(ended).toBe(true);
    await stopping;
    expect(lines.at(-1)).toMatchObject({ level: 'warn', message: expect.stringContaining('not given back') });
    expect(clock.pendingTimers).toBe(0);
  });
});
