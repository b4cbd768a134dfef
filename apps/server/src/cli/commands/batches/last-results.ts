import type { Asking } from '../../ask/asking.js';
import type { BatchDetails, TaskResult } from './show-batch.js';

/** One page of tasks is looked at, the largest that a server sends. */
const TASKS_LOOKED = 200;
const RESULTS_SHOWN = 10;

/**
 * What the tasks of a batch gave that nothing waits for; none while it runs, and where nobody will see it.
 * @throws ProblemError when the server refuses; what `fetch` throws.
 */
export async function resultsOf(asking: Asking, details: BatchDetails): Promise<readonly TaskResult[]> {
  const { batch, edges, counts } = details;
  if (asking.isJson || batch.status === 'RUNNING' || edges === null || counts.done === 0) return [];
  const waitedFor = new Set(edges.map(([from]) => from));
  const { client, signal } = asking;
  const request = { params: { batchId: batch.id }, query: { status: 'DONE', limit: TASKS_LOOKED } } as const;
  const { items } = await client.call('listBatchTasks', request, { signal });
  return items
    .filter(({ key, result }) => !waitedFor.has(key) && result !== null)
    .slice(0, RESULTS_SHOWN)
    .map(({ key, result }) => ({ key, result }));
}
