import { type BulkActionService, hasEnded } from '@millrace/bulk-action';
import type { DemoStopped } from '@millrace/contract';
import { isTerminal, type Operations } from '@millrace/orchestrator';
import type { Batches } from '@millrace/outbox';
import { DEMO_TENANTS } from './plan.js';

/** Where the work of a demo is. */
export interface DemoPlaces {
  readonly bulk: BulkActionService;
  readonly batches: Batches;
  readonly operations: Operations;
}

const PAGE_SIZE = 100;
/** Of each tenant's list: a demo has a few hundred of anything at most, and the newest come first. */
const PAGES_MAX = 10;

/**
 * Ends everything of demos that has not ended, whichever instance began it. Operations first: with each the work behind it ends.
 * @returns how many of each.
 * @throws MillraceError of stores that are away; may be repeated.
 */
export async function clearDemo({ bulk, batches, operations }: DemoPlaces): Promise<DemoStopped> {
  const ended = { groups: 0, batches: 0, operations: 0 };
  for (const tenant of DEMO_TENANTS) {
    await eachOf(
      (cursor) => operations.list({ tenant }, { limit: PAGE_SIZE, cursor }),
      async ({ opId, state }) => {
        if (isTerminal(state)) return;
        await operations.cancel(opId, { tenant });
        ended.operations++;
      },
    );
    await eachOf(
      (cursor) => batches.list({ tenant, status: 'RUNNING', limit: PAGE_SIZE, cursor }),
      async ({ id }) => {
        await batches.abort(id);
        ended.batches++;
      },
    );
    await eachOf(
      (cursor) => bulk.listGroups({ tenant }, { limit: PAGE_SIZE, cursor }),
      async ({ id, status }) => {
        // AGGREGATING: there is nothing left to stop, and its result is a moment away.
        if (hasEnded(status) || status === 'AGGREGATING') return;
        await bulk.cancelGroup(id);
        ended.groups++;
      },
    );
  }
  return ended;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
}

async function eachOf<T>(
  list: (cursor: string | undefined) => Promise<Page<T>>,
  end: (item: T) => Promise<void>,
): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { items, cursor: next } = await list(cursor);
    for (const item of items) await end(item);
    if (next === undefined) return;
    cursor = next;
  }
}
