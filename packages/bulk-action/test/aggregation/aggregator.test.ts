import { describe, expect, it } from 'vitest';
import {
  type Aggregator,
  AggregatorRegistry,
  DEFAULT_AGGREGATOR_TYPE,
  defineAggregator,
  type JobResult,
} from '../../src/aggregator.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import { successOutcome } from '../../src/pool/success-outcome.js';
import { code } from '../on-memory.js';

const parts: Pick<Aggregator, 'map' | 'reduce'> = { map: (result) => result, reduce: () => 1 };
const of = (type: string, more: Partial<Aggregator> = {}): Aggregator => ({ type, ...parts, ...more });

describe('aggregators', () => {
  it('bulk-action BA-13: are declared with their types inferred', async () => {
    const sum = defineAggregator<number, number>({
      type: 'SUM',
      map: ({ data }: JobResult<{ amount: number }>) => data.amount,
      async reduce(amounts): Promise<number> {
        let total = 0;
        for await (const amount of amounts) total += amount;
        return total;
      },
      numbers: (data: { amount: number }) => ({ amount: data.amount }),
    });
    const total: number | Promise<number> = sum.reduce(
      (async function* () {
        yield 2;
        yield 3;
      })(),
      {
        groupId: 'g',
        totalJobs: 2,
        successCount: 2,
        failedCount: 0,
        startedAt: 1,
        completedAt: 2,
        durationMs: 1,
      },
    );
    expect(await total).toBe(5);
  });

  it.each([
    [undefined, 'type must be'],
    [{ ...parts }, 'type must be'],
    [{ ...parts, type: '' }, 'type must be'],
    [{ type: 'a', reduce: parts.reduce }, 'map must be a function'],
    [{ type: 'a', map: parts.map }, 'reduce must be a function'],
    [{ ...parts, type: 'a', numbers: {} }, 'numbers must be a function'],
  ])('bulk-action BA-13: %j is refused', (given, message) => {
    expect(() => defineAggregator(given as never)).toThrow(
      expect.objectContaining(code('OPTION_INVALID', { message: expect.stringContaining(message) })),
    );
  });

  it('bulk-action BA-13: a registry has one per type, and one for all others', () => {
    const [a, other] = [of('a'), of(DEFAULT_AGGREGATOR_TYPE)];
    const registry = new AggregatorRegistry([a]);
    registry.register(a);
    expect(() => registry.register(of('a'))).toThrow(expect.objectContaining(code('AGGREGATOR_CONFLICT')));
    expect([registry.get('a'), registry.get('b'), registry.hasDefault]).toEqual([a, undefined, false]);
    registry.register(other);
    expect([registry.get('a'), registry.get('b'), registry.hasDefault]).toEqual([a, other, true]);
    expect([registry.hasOwn('a'), registry.hasOwn('b'), registry.hasOwn(DEFAULT_AGGREGATOR_TYPE)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(registry.types).toEqual(['a', DEFAULT_AGGREGATOR_TYPE]);
  });
});

describe('what a success leaves', () => {
  const outcomeOf = (
    aggregators: readonly Aggregator[],
    data: unknown,
    config: Parameters<typeof resolveBulkActionConfig>[0] = {},
  ) => {
    const notes: string[] = [];
    const rules = {
      aggregators: new AggregatorRegistry(aggregators),
      config: resolveBulkActionConfig(config),
    };
    return {
      outcome: successOutcome({ processorType: 'a' }, data, rules, (_, note) => void notes.push(note)),
      notes,
    };
  };

  it('bulk-action BA-13: nothing without an aggregator of its own and without keepResults', () => {
    expect(outcomeOf([], { n: 1 }).outcome).toEqual({ kind: 'success' });
    expect(outcomeOf([of('b'), of(DEFAULT_AGGREGATOR_TYPE)], { n: 1 }).outcome).toEqual({ kind: 'success' });
    expect(outcomeOf([], undefined, { keepResults: true }).outcome).toEqual({ kind: 'success' });
  });

  it('bulk-action BA-13: its data, and the wish for an aggregation', () => {
    expect(outcomeOf([of('a')], { n: 1 }).outcome).toEqual({
      kind: 'success',
      data: '{"n":1}',
      aggregate: true,
    });
    expect(outcomeOf([of('a')], undefined).outcome).toEqual({ kind: 'success', aggregate: true });
    expect(outcomeOf([], 5, { keepResults: true }).outcome).toEqual({ kind: 'success', data: '5' });
    const kept = outcomeOf([of(DEFAULT_AGGREGATOR_TYPE)], 5, { keepResults: true });
    expect(kept.outcome).toEqual({ kind: 'success', data: '5', aggregate: true });
  });

  it.each([
    ['too large', 'x'.repeat(11)],
    ['a function', () => 1],
    ['circular', circular()],
    ['a big integer', 1n],
    ['throwing', { toJSON: () => Promise.reject.call(undefined) }],
  ])('bulk-action BA-13: data that is %s is counted as dropped, and the job has succeeded', (_, data) => {
    const { outcome, notes } = outcomeOf([of('a')], data, { limits: { resultBytesMax: 12 } });
    expect(outcome).toEqual({ kind: 'success', dropped: true, aggregate: true });
    expect(notes).toEqual([expect.stringContaining('The result is not kept')]);
  });

  it('bulk-action BA-13: numbers that can be counted, whoever keeps the data', () => {
    const numbers = () => ({
      good: 1.5,
      'a:b': -2,
      'no space': 1,
      '': 1,
      nan: Number.NaN,
      inf: 1 / 0,
      far: 1e301,
    });
    const { outcome, notes } = outcomeOf([of(DEFAULT_AGGREGATOR_TYPE, { numbers })], 1);
    expect(outcome).toEqual({ kind: 'success', numbers: { good: 1.5, 'a:b': -2 } });
    expect(notes).toEqual(['5 numbers are not counted']);
    const many = () => Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`n${n}`, n]));
    expect(Object.keys(numbersIn(outcomeOf([of('a', { numbers: many })], 1).outcome))).toHaveLength(32);
  });

  it.each([
    ['throws undefined', () => Promise.reject.call(undefined)],
    ['throws', () => JSON.parse('{')],
    ['gives nothing', () => undefined],
    ['gives a text', () => 'text'],
    ['gives texts', () => ({ a: '1' })],
  ])('bulk-action BA-13: numbers that %s count nothing', (_, numbers) => {
    const { outcome } = outcomeOf([of('a', { numbers: numbers as never })], 1);
    expect(outcome).toEqual({ kind: 'success', data: '1', aggregate: true });
  });
});

function circular(): object {
  const ring: { self?: object } = {};
  ring.self = ring;
  return ring;
}

const numbersIn = (outcome: object): object => ('numbers' in outcome ? (outcome.numbers as object) : {});
