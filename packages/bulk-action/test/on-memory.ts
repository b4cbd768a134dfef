import { seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { BackpressureService } from '../src/backpressure-service.js';
import { BulkActionService } from '../src/bulk-action-service.js';
import { DeadLetterService } from '../src/dead-letter-service.js';
import { IdempotencyService } from '../src/idempotency-service.js';
import type { LeasedJob, Outcome } from '../src/lease.js';
import { MemoryStore } from '../src/memory/store.js';
import type { Page } from '../src/model.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../src/options.js';

/** The services on a real memory store, without a pool: a test plays the worker. */
export function onMemory(given: BulkActionConfig = {}) {
  const clock = new ManualClock();
  const rng = seededRng('services');
  const config = resolveBulkActionConfig(given);
  const store = new MemoryStore(config, { clock });
  const all = { store, config, clock, rng };
  let seq = 0;
  /** Fair queue → ready → in flight, as many as may go. */
  const take = async (max = 1000): Promise<readonly LeasedJob[]> => {
    await store.gate.dispatch(1000);
    await store.gate.fetch(max);
    seq += 1;
    return (await store.leases.reserve({ instanceId: 'test', seq, max })).jobs;
  };
  const settle = (jobs: readonly LeasedJob[], outcome: Outcome) =>
    store.leases.settle(jobs.map(({ key, jobId, token }) => ({ key, jobId, token, durationMs: 5, outcome })));
  return {
    clock,
    config,
    store,
    service: new BulkActionService(all),
    deadLetters: new DeadLetterService(all),
    idempotency: new IdempotencyService(all),
    backpressure: new BackpressureService(all),
    take,
    settle,
    /** Runs everything that may run now. */
    async work(outcome: Outcome = { kind: 'success' }): Promise<number> {
      let count = 0;
      for (let jobs = await take(); jobs.length > 0; jobs = await take()) {
        await settle(jobs, outcome);
        count += jobs.length;
      }
      return count;
    },
  };
}

/** Fails for good and leaves a dead letter. */
export const dead = (message: string): Outcome => ({
  kind: 'failure',
  error: { code: 'HANDLER_FAILED', message },
  dead: true,
  signature: `mail HANDLER_FAILED ${message}`,
});

/** `count` jobs with ids `j0`, `j1`, … */
export const jobs = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({ id: `j${index}`, processorType: 'mail', ...more }));

/** All items of a list, page by page, and how many pages there were. */
export async function allPages<T>(
  page: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<{ items: T[]; pages: number }> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const answer = await page(cursor);
    items.push(...answer.items);
    cursor = answer.cursor;
    if (cursor === undefined) return { items, pages };
    if (pages > 10_000) throw new Error(`the list did not end; ${items.length} items so far`);
  }
}

/** An error of this code. */
export const code = (name: string, more: object = {}) => ({ code: name, ...more });
