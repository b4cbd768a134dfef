import type { ResponseOf } from '@millrace/contract/server-client';
import type { Asking } from '../../ask/asking.js';
import { amount, duration, moment, pluralize } from '../../show/amounts.js';
import type { Colours, Column, Printer } from '../../show/printer.js';
import { shortened } from '../../show/text.js';
import { add, inOrderOfTheDag } from './task-order.js';

/** A batch with its tasks, as a server tells of it. */
export type BatchDetails = ResponseOf<'getBatch'>;
type Task = BatchDetails['tasks'][number];
/** A task and the keys of what it waits for. */
type ShownTask = Task & { readonly after: readonly string[] };

const ERROR_CHARACTERS_MAX = 80;
/** More names help nobody in a table. */
const NAMES_MAX = 3;

const COLUMNS: readonly Column<ShownTask>[] = [
  { name: 'task', of: ({ key }) => key },
  { name: 'after', of: ({ after }) => namesOf(after) },
  { name: 'state', of: stateOf, colour: coloured },
  { name: 'tries', of: ({ attempts, attemptsMax }) => `${attempts} of ${attemptsMax}`, isNumber: true },
  { name: 'took', of: ({ startedAt, endedAt }) => duration(between(startedAt, endedAt)), isNumber: true },
  {
    name: 'error',
    of: ({ error }) => (error ? shortened(`${error.code}: ${error.message}`, ERROR_CHARACTERS_MAX) : ''),
  },
];

/** What a task gave. */
export type TaskResult = Pick<ResponseOf<'listBatchTasks'>['items'][number], 'key' | 'result'>;

const RESULT_CHARACTERS_MAX = 200;
const RESULT_COLUMNS: readonly Column<TaskResult>[] = [
  { name: 'task', of: ({ key }) => key },
  { name: 'result', of: ({ result }) => shortened(JSON.stringify(result), RESULT_CHARACTERS_MAX) },
];

/** Prints a batch and its tasks, each behind what it waits for. */
export function showBatch(
  printer: Printer,
  details: BatchDetails,
  results: readonly TaskResult[] = [],
): void {
  const { batch, counts, tasks, criticalPath, eta } = details;
  printer.fields({
    batch: batch.id,
    dag: `${batch.dag} (version ${batch.dagVersion})`,
    key: batch.runNo > 1 ? `${batch.bizKey} (run ${batch.runNo})` : batch.bizKey,
    tenant: batch.tenant || undefined,
    status: batch.status,
    tasks: countsText(counts),
    created: moment(batch.createdAt),
    ended: batch.endedAt === null ? undefined : moment(batch.endedAt),
    took: batch.endedAt === null ? undefined : duration(between(batch.createdAt, batch.endedAt)),
    'ends about': eta === null ? undefined : moment(eta),
    'longest way': criticalPath
      ? `${shortened(criticalPath.keys.join(' → '), ERROR_CHARACTERS_MAX)} (${duration(criticalPath.ms)})`
      : undefined,
  });
  printer.line('');
  printer.table(COLUMNS, shownTasks(details), 'It has no tasks.');
  if (results.length > 0) {
    printer.line('');
    printer.table(RESULT_COLUMNS, results, '');
  }
  if (tasks.length < batch.taskCount)
    printer.remark(`Shown are ${amount(tasks.length)} of ${pluralize(batch.taskCount, 'task')}.`);
}

/** How many tasks are in which state: `3 done, 1 failed`. */
export const countsText = (counts: BatchDetails['counts']): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${amount(count)} ${state}`)
    .join(', ') || 'none';

function shownTasks({ tasks, edges }: BatchDetails): readonly ShownTask[] {
  const before = new Map<string, string[]>();
  for (const [from, to] of edges ?? []) add(before, to, from);
  return inOrderOfTheDag(tasks, edges ?? []).map((task) => ({ ...task, after: before.get(task.key) ?? [] }));
}

const namesOf = (keys: readonly string[]): string =>
  keys.length > NAMES_MAX
    ? `${keys.slice(0, NAMES_MAX).join(', ')} and ${keys.length - NAMES_MAX} more`
    : keys.join(', ');

function stateOf({ status, waiting, skippedBy }: Task): string {
  if (waiting) return 'WAITING';
  return skippedBy === 'condition' ? `${status} (by its condition)` : status;
}

function coloured(text: string, { status }: Task, { green, red, yellow, dim }: Colours): string {
  switch (status) {
    case 'DONE':
      return green(text);
    case 'FAILED':
      return red(text);
    case 'PROCESSING':
      return yellow(text);
    default:
      return dim(text);
  }
}

const between = (from: string | null, to: string | null): number | null =>
  from === null || to === null ? null : Date.parse(to) - Date.parse(from);

/** Tasks of the one page that is read. The server sends at most 200. */
const TASKS_READ = 200;
const RESULTS_SHOWN = 10;

/**
 * Reads the results of the tasks that no other task waits for. Returns none while the batch runs, and with `--json`.
 * @throws ProblemError if the server rejects the request; the errors of `fetch`.
 */
export async function resultsOf(asking: Asking, details: BatchDetails): Promise<readonly TaskResult[]> {
  const { batch, edges, counts } = details;
  if (asking.isJson || batch.status === 'RUNNING' || edges === null || counts.done === 0) return [];
  const waitedFor = new Set(edges.map(([from]) => from));
  const { client, signal } = asking;
  const request = { params: { batchId: batch.id }, query: { status: 'DONE', limit: TASKS_READ } } as const;
  const { items } = await client.call('listBatchTasks', request, { signal });
  return items
    .filter(({ key, result }) => !waitedFor.has(key) && result !== null)
    .slice(0, RESULTS_SHOWN)
    .map(({ key, result }) => ({ key, result }));
}
