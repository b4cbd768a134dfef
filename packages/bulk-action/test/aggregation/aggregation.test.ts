import { NonRetryableError } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { AggregationContext } from '../../src/aggregator.js';
import { MemoryStore } from '../../src/memory/store.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import { RESULTS_PAGE } from '../../src/pool/run-aggregation.js';
import { code } from '../on-memory.js';
import { echo, engineOf, numbered, summing, workAs } from './bench.js';

const NO_LIMIT = { backpressure: { globalRps: 0 } };

describe('results added up', () => {
  it('bulk-action BA-13: map and reduce make the data of the result, from settlement to COMPLETED', async () => {
    const contexts: AggregationContext[] = [];
    const aggregator = summing('SUM', {
      reduce: async (amounts, context) => {
        contexts.push(context);
        const all: number[] = [];
        for await (const amount of amounts) all.push(amount);
        return { sorted: all.sort((a, b) => a - b) };
      },
      numbers: (n) => ({ n: n as number }),
    });
    const { engine, ended, lines } = engineOf({ processors: [echo()], aggregators: [aggregator] });
    await using _ = engine;
    await engine.start();
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    await engine.service.submitBulk({ id: 'g', tenant: 'acme', traceparent }, numbered(5));
    await ended('acme/g');
    const result = await engine.service.getResult('acme/g');
    expect(result).toMatchObject({
      status: 'COMPLETED',
      success: 5,
      data: { sorted: [0, 1, 2, 3, 4] },
      numbers: { n: { count: 5, sum: 10, min: 0, max: 4 } },
    });
    expect(result).not.toHaveProperty('resultsDropped');
    expect(contexts).toEqual([
      {
        groupId: 'acme/g',
        totalJobs: 5,
        successCount: 5,
        failedCount: 0,
        startedAt: result?.startedAt,
        completedAt: expect.any(Number),
        durationMs: expect.any(Number),
      },
    ]);
    const [context] = contexts as [AggregationContext];
    expect(context.durationMs).toBe(context.completedAt - context.startedAt);
    expect(lines.filter(({ message }) => message === 'Group ended: COMPLETED')).toMatchObject([
      { fields: { groupId: 'acme/g', traceId } },
    ]);
    expect((await engine.aggregator.listResults('acme/g', { limit: 2 })).items).toHaveLength(2);
    const one = await engine.aggregator.findResult('acme/g', 'SUM3');
    expect(one).toMatchObject({ jobId: 'SUM3', data: 3 });
    expect(await engine.aggregator.findResult('acme/g', 'none')).toBeUndefined();
    expect(await engine.aggregator.findResult('nowhere', 'j3')).toBeUndefined();
    await expect(engine.aggregator.findResult('acme/g', 'no/id')).rejects.toMatchObject(code('ID_INVALID'));
    await expect(engine.aggregator.listResults('nowhere')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('bulk-action BA-13: several types give a value each; types without an aggregator give none', async () => {
    const { engine, ended } = engineOf({
      processors: [echo('A'), echo('B'), echo('C')],
      aggregators: [summing('A'), summing('B', { reduce: () => undefined }), summing('__default__')],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, [
      ...numbered(3, 'A'),
      ...numbered(2, 'B'),
      ...numbered(4, 'C'),
    ]);
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ data: { A: { sum: 3, count: 3, of: 9 } } });
    await engine.service.submitBulk({ id: 'plain' }, numbered(4, 'C'));
    await ended('plain');
    expect(await engine.service.getResult('plain')).not.toHaveProperty('data');
  });

  it('bulk-action BA-13: with keepResults the default aggregator has the rest', async () => {
    const { engine, ended } = engineOf({
      config: { keepResults: true },
      processors: [echo('A')],
      aggregators: [summing('__default__')],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, numbered(3, 'A'));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ data: { sum: 3, count: 3 } });
  });

  it('bulk-action BA-13: a group whose last job is dead-lettered completes, and its redrive gives the right sum', async () => {
    let broken = true;
    const process = ({ payload }: { payload: unknown }) => {
      if (broken && payload === 2) throw new Error('not yet');
      if (payload === 3) throw new NonRetryableError('never');
      return payload;
    };
    const { engine, ended } = engineOf({
      config: { workerPool: { maxRetryCount: 1 } },
      processors: [{ type: 'SUM', process }],
      aggregators: [summing('SUM')],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, numbered(4));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({
      status: 'COMPLETED',
      failed: 2,
      data: { sum: 1, count: 2, of: 2 },
    });
    broken = false;
    expect(await engine.deadLetters.redrive({ all: true })).toBe(1);
    await ended('g', 2);
    expect(await engine.service.getResult('g')).toMatchObject({
      round: 2,
      failed: 1,
      data: { sum: 3, count: 3, of: 3 },
    });
    expect(await engine.service.getResult('g', { round: 1 })).toMatchObject({ round: 1, data: { sum: 1 } });
  });

  it('bulk-action BA-13: a group all of whose jobs fail is reduced over nothing', async () => {
    const process = () => {
      throw new NonRetryableError('never');
    };
    const { engine, ended } = engineOf({
      processors: [{ type: 'SUM', process }],
      aggregators: [summing('SUM')],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, numbered(2));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ failed: 2, data: { sum: 0, count: 0 } });
  });

  it('bulk-action BA-13: what is too large for the group is left out and counted', async () => {
    const { engine, ended } = engineOf({
      config: { limits: { groupResultBytesMax: 30, resultBytesMax: 20 } },
      processors: [{ type: 'SUM', process: ({ payload }) => 'x'.repeat(Number(payload)) }],
      aggregators: [{ type: 'SUM', map: ({ data }) => data, reduce: () => 'small' }],
    });
    await using _ = engine;
    await engine.start();
    const sizes = [30, 10, 10, 10].map((payload, n) => ({ id: `j${n}`, processorType: 'SUM', payload }));
    await engine.service.submitBulk({ id: 'g' }, sizes);
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({
      success: 4,
      resultsDropped: 2,
      data: 'small',
    });
  });
});

describe('results in pages', () => {
  it('bulk-action BA-13: 100,000 results are reduced with a page of them in memory', async () => {
    const clock = new ManualClock();
    const memory = new MemoryStore(resolveBulkActionConfig(NO_LIMIT), { clock });
    let [largest, pages, ahead, most] = [0, 0, 0, 0];
    const { page } = memory.aggregations;
    Object.assign(memory.aggregations, {
      page: async (...args: Parameters<typeof page>) => {
        const answer = await page(...args);
        pages += 1;
        largest = Math.max(largest, answer.items.length);
        ahead += answer.items.length;
        most = Math.max(most, ahead);
        return answer;
      },
    });
    const count = 100_000;
    const { engine, ended } = engineOf({
      clock,
      shared: memory,
      aggregators: [
        summing('SUM', {
          async reduce(amounts) {
            let sum = 0;
            for await (const amount of amounts) {
              sum += amount;
              ahead -= 1;
            }
            return sum;
          },
        }),
      ],
    });
    await using _ = engine;
    await engine.service.submitBulk({ id: 'g' }, numbered(count));
    await workAs(memory, count);
    await engine.start();
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({
      status: 'COMPLETED',
      success: count,
      data: (count * (count - 1)) / 2,
    });
    expect(pages).toBe(count / RESULTS_PAGE);
    expect(largest).toBe(RESULTS_PAGE);
    // Never more than one page that was read and not yet taken.
    expect(most).toBeLessThanOrEqual(RESULTS_PAGE);
  });

  it('bulk-action BA-13: a reduce may go over the results twice, or stop early', async () => {
    const { engine, ended } = engineOf({
      processors: [echo()],
      aggregators: [
        summing('SUM', {
          async reduce(amounts) {
            let [max, above] = [0, 0];
            for await (const amount of amounts) max = Math.max(max, amount);
            for await (const amount of amounts) if (amount > max / 2) above += 1;
            for await (const _first of amounts) break;
            return [max, above];
          },
        }),
      ],
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, numbered(10));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ data: [9, 5] });
  });
});
