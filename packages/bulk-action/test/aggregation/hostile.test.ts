import { describe, expect, it } from 'vitest';
import { echo, engineOf, numbered, pass, summing } from './bench.js';

const never = () => new Promise<never>(() => {});

describe('a hostile aggregator', () => {
  const throwing = (thrown: unknown) => () => {
    throw thrown;
  };
  const swallowing = async (amounts: AsyncIterable<number>) => {
    try {
      for await (const amount of amounts) void amount;
    } catch {}
    return 'half of it';
  };
  const ring: { self?: object } = {};
  ring.self = ring;

  it.each([
    ['a reduce that throws', { reduce: throwing(new Error('no way')) }, 'no way'],
    ['a reduce that throws undefined', { reduce: throwing(undefined) }, ''],
    ['a reduce that rejects with undefined', { reduce: () => Promise.reject(undefined) }, ''],
    ['a map that throws undefined', { map: throwing(undefined) }, ''],
    ['a map that throws, swallowed by reduce', { map: throwing('text'), reduce: swallowing }, 'text'],
    ['a circular value', { reduce: () => ring }, 'cannot be stored'],
    ['a big integer', { reduce: () => 1n }, 'cannot be stored'],
    ['a function', { reduce: () => () => 1 }, 'cannot be stored'],
    ['no number', { reduce: () => Number.NaN }, 'cannot be stored'],
    ['a toJSON that throws', { reduce: () => ({ toJSON: throwing(undefined) }) }, 'cannot be stored'],
    ['a hostile then', { reduce: () => Object.defineProperty({}, 'then', { get: throwing(1) }) }, '1'],
    ['too much', { reduce: () => 'x'.repeat(2000) }, 'at most 1000 are kept'],
  ])(
    'bulk-action BA-13: %s is tried four times, then FAILED with its counters',
    async (_, parts, message) => {
      let runs = 0;
      const given = summing('SUM', parts as never);
      const aggregator = {
        ...given,
        reduce: (...args: Parameters<typeof given.reduce>) => {
          runs += 1;
          return given.reduce(...args);
        },
      };
      const { engine, ended, lines } = engineOf({
        config: { limits: { groupResultBytesMax: 1000 } },
        processors: [echo()],
        aggregators: [aggregator],
      });
      await using _engine = engine;
      await engine.start();
      await engine.service.submitBulk({ id: 'g' }, numbered(3));
      await ended('g');
      expect(await engine.service.getResult('g')).toMatchObject({
        status: 'FAILED',
        code: 'AGGREGATION_FAILED',
        message: expect.stringContaining(message),
        success: 3,
        cancelled: 0,
      });
      expect(runs).toBe(4);
      expect(lines.filter(({ message: line }) => line.startsWith('Aggregation failed'))).toHaveLength(3);
      expect(
        lines.filter(({ level, message: line }) => level === 'error' && line.startsWith('Group')),
      ).toHaveLength(1);
    },
  );

  it('bulk-action BA-13: a reduce that throws three times and then works completes', async () => {
    let runs = 0;
    const { engine, ended } = engineOf({
      processors: [echo()],
      aggregators: [
        summing('SUM', {
          reduce() {
            runs += 1;
            if (runs <= 3) throw new Error('not yet');
            return runs;
          },
        }),
      ],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, numbered(1));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ status: 'COMPLETED', data: 4 });
  });

  it('bulk-action BA-13: a reduce that never ends holds up no other group, and a cancel ends it', async () => {
    const { clock, engine, ended, lines } = engineOf({
      processors: [echo('HANG'), echo()],
      aggregators: [summing('HANG', { reduce: never }), summing('SUM', { reduce: () => 'read nothing' })],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'hangs' }, numbered(1, 'HANG'));
    await engine.service.submitBulk({ id: 'g' }, numbered(1));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ data: 'read nothing' });
    await clock.advance(120_000);
    expect(await engine.service.getProgress('hangs')).toMatchObject({ status: 'AGGREGATING', done: 1 });
    await engine.service.cancelGroup('hangs');
    await pass(clock, 'the loss to be noticed', () =>
      lines.some(({ message }) => /lock was lost/.test(message)),
    );
    expect(await engine.service.getResult('hangs')).toMatchObject({ status: 'CANCELLED', success: 1 });
  });
});
