import type { BatchTaskSummary } from '@millrace/contract';
import type { ResponseOf } from '@millrace/contract/server-client';
import { useAsk } from '../../data/ask.js';
import { type CursorPages, useCursorPages } from '../../data/cursor-pages.js';
import { useFilters } from '../../data/filters.js';

/** The states by which tasks are looked for. */
export const TASK_STATES = ['FAILED', 'PROCESSING', 'READY', 'DONE', 'CANCELLED', 'SKIPPED'] as const;
type TaskStatus = (typeof TASK_STATES)[number];

const PAGE_SIZE = 100;

/** The tasks of a batch that the table shows. */
export interface TaskRows {
  /** undefined: they are on their way. */
  readonly rows: readonly BatchTaskSummary[] | undefined;
  readonly error: Error | null;
  readonly status: TaskStatus | undefined;
  choose(status: string): void;
  readonly pages: CursorPages;
  readonly nextCursor: string | null;
}

/**
 * The tasks of a batch by state: those that come with it, or page by page where it has more of them.
 * @param details - of the batch; undefined: they are on their way.
 */
export function useTaskRows(details: ResponseOf<'getBatch'> | undefined): TaskRows {
  const { values, set } = useFilters('state');
  const status = TASK_STATES.find((name) => name === values.state);
  const pages = useCursorPages(`${details?.batch.id}/${status}`);
  const isWhole = details === undefined || details.tasks.length >= details.batch.taskCount;
  const query = {
    limit: PAGE_SIZE,
    ...(status && { status }),
    ...(pages.cursor !== undefined && { cursor: pages.cursor }),
  };
  const request = { params: { batchId: details?.batch.id ?? '' }, query };
  const asked = useAsk('listBatchTasks', request, { when: !isWhole });
  const all = isWhole ? details?.tasks : asked.data?.items;
  return {
    rows: isWhole && status ? all?.filter((task) => task.status === status) : all,
    error: isWhole ? null : asked.error,
    status,
    choose: (state) => set({ state }),
    pages,
    nextCursor: isWhole ? null : (asked.data?.cursor ?? null),
  };
}
