import { seededRng } from '@millrace/foundation';
import { ManualClock, recordingLogger } from '@millrace/testkit';
import { expect } from 'vitest';
import { type AggregationContext, type Aggregator, type JobResult } from '../../src/aggregator.js';
import {
  BulkActionEngine,
  type BulkActionEngineOptions,
  type BulkStore,
  MemoryStore,
  resolveBulkActionConfig,
} from '../../src/index.js';

/** Moves the clock until something holds. */
export async function pass(
  clock: ManualClock,
  what: string,
  holds: () => Promise<boolean> | boolean,
  stepMs = 50,
): Promise<void> {
  for (let step = 0; step < 4000; step++) {
    if (await holds()) return;
    await clock.advance(stepMs);
  }
  expect.fail(`expected ${what} within ${4000 * stepMs} ms of the clock`);
}

/** Adds up the data of its type, and says how many there were. */
export const summing = (type: string, more: Partial<Aggregator<number, unknown>> = {}) =>
  ({
    type,
    map: ({ data }: JobResult<number>) => data,
    async reduce(amounts: AsyncIterable<number>, context: AggregationContext) {
      let [sum, count] = [0, 0];
      for await (const amount of amounts) {
        sum += amount;
        count += 1;
      }
      return { sum, count, of: context.successCount };
    },
    ...more,
  }) as Aggregator;

/** Jobs of a type whose data is their number. */
export const numbered = (count: number, processorType = 'SUM') =>
  Array.from({ length: count }, (_, n) => ({ id: `${processorType}${n}`, processorType, payload: n }));

/** Gives its payload back. */
export const echo = (type = 'SUM') => ({ type, process: ({ payload }: { payload: unknown }) => payload });

/** An engine on memory under a clock that stands still. */
export function engineOf(
  options: BulkActionEngineOptions & { readonly shared?: BulkStore; readonly name?: string } = {},
) {
  const { shared, clock: given, name = 'engine', ...rest } = options;
  const clock = (given as ManualClock | undefined) ?? new ManualClock();
  const { log, lines } = recordingLogger();
  const store = shared ?? new MemoryStore(resolveBulkActionConfig(options.config), { clock });
  const engine = new BulkActionEngine({ clock, rng: seededRng(name), log, store, ...rest });
  return {
    clock,
    engine,
    store,
    lines,
    ended: (groupId: string, round = 1) =>
      pass(clock, `round ${round} of ${groupId} to end`, async () => {
        const result = await engine.service.getResult(groupId);
        return (result?.round ?? 0) >= round;
      }),
    /** While the clock goes on. */
    stop: async () => {
      let stopped = false;
      void engine.stop().then(() => {
        stopped = true;
      });
      await pass(clock, 'the engine to stop', () => stopped);
    },
    status: async (groupId: string) => (await engine.service.getProgress(groupId)).status,
  };
}

/** Plays the worker of a pool that has an aggregator: every job succeeds with its payload. */
export async function workAs(store: BulkStore, count: number): Promise<void> {
  let [done, seq] = [0, 0];
  while (done < count) {
    seq += 1;
    const { jobs } = await store.leases.reserve({ instanceId: 'worker', seq, max: 1000, turns: 1000 });
    if (jobs.length === 0) expect.fail(`expected ${count} jobs to run, got ${done}`);
    await store.leases.settle(
      jobs.map(({ key, jobId, token, payload }) => ({
        key,
        jobId,
        token,
        durationMs: 1,
        outcome: { kind: 'success', data: payload, aggregate: true },
      })),
    );
    done += jobs.length;
  }
}
