import type { BatchDetailsBody, BatchTaskSummary } from '@millrace/contract';
import { counted } from './amounts.js';
import { type DagEdge, edgeName } from './dag-ranks.js';
import { durationText } from './times.js';
import type { Tone } from './tones.js';

type Counts = BatchDetailsBody['counts'];
type CriticalPath = NonNullable<BatchDetailsBody['criticalPath']>;

/**
 * The state of a task as people see it: READY while it waits for others is not ready, and what is processed runs.
 */
export function taskState({ status, waiting }: Pick<BatchTaskSummary, 'status' | 'waiting'>): string {
  if (status === 'PROCESSING') return 'RUNNING';
  return status === 'READY' && waiting ? 'WAITING' : status;
}

/** So many tasks are in a state. */
export interface StateCount {
  readonly label: string;
  readonly value: number;
  readonly tone: Tone;
}

/** The tasks of a batch by state: those that have ended first, those whose turn comes last. */
export function stateCounts(counts: Counts): readonly StateCount[] {
  const all: readonly StateCount[] = [
    { label: 'done', value: counts.done, tone: 'ok' },
    { label: 'failed', value: counts.failed, tone: 'fail' },
    { label: 'running', value: counts.processing, tone: 'run' },
    { label: 'ready', value: counts.ready, tone: 'wait' },
    { label: 'waiting for others', value: counts.waiting, tone: 'wait' },
    { label: 'cancelled', value: counts.cancelled, tone: 'wait' },
    { label: 'skipped', value: counts.skipped, tone: 'wait' },
  ];
  return all.filter(({ label, value }) => value > 0 || label === 'done');
}

/** How many tasks of a batch have not ended. */
export const openTasks = ({ waiting, ready, processing }: Counts): number => waiting + ready + processing;

/** What a retry of a whole batch runs again. */
export interface RunAgain {
  readonly count: number;
  /** `1 failed, 2 cancelled`. */
  readonly text: string;
}

/**
 * What a retry of a batch runs again: all that failed, was cancelled, or was skipped because of others.
 * @param details - of the batch; of one with more tasks than it holds, those that were skipped are known in part.
 */
export function runAgain({ counts, tasks }: Pick<BatchDetailsBody, 'counts' | 'tasks'>): RunAgain {
  const skipped = tasks.filter(
    ({ status, skippedBy }) => status === 'SKIPPED' && skippedBy === 'cascade',
  ).length;
  const parts = [
    counts.failed > 0 && `${counted(counts.failed, 'failed', 'failed')}`,
    counts.cancelled > 0 && `${counted(counts.cancelled, 'cancelled', 'cancelled')}`,
    skipped > 0 && `${counted(skipped, 'skipped because of others', 'skipped because of others')}`,
  ].filter((part) => part !== false);
  return { count: counts.failed + counts.cancelled + skipped, text: parts.join(', ') };
}

/** More keys in a row are no longer read. */
const KEYS_SHOWN = 7;

/** Tasks in a row: `load → fx → settle`; a long row without its middle. */
export function chainText(keys: readonly string[], mark = ' → '): string {
  if (keys.length <= KEYS_SHOWN) return keys.join(mark);
  const left = keys.length - (KEYS_SHOWN - 1);
  const half = (KEYS_SHOWN - 1) / 2;
  return [...keys.slice(0, half), `${left} more`, ...keys.slice(-half)].join(mark);
}

/** How long the critical path takes: `2.3 s, 800 ms left`. */
export const pathTimeText = ({ ms, leftMs }: Pick<CriticalPath, 'ms' | 'leftMs'>): string =>
  leftMs > 0 ? `${durationText(ms)}, ${durationText(leftMs)} left` : durationText(ms);

/**
 * Whom each task waits for.
 * @param edges - of the batch; null: nobody knows.
 */
export function parentsOf(edges: readonly DagEdge[] | null): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>();
  for (const [from, to] of edges ?? []) {
    const list = parents.get(to);
    if (list) list.push(from);
    else parents.set(to, [from]);
  }
  return parents;
}

/** The edges between tasks that follow each other on the critical path. */
export const edgesOfPath = (keys: readonly string[]): ReadonlySet<string> =>
  new Set(keys.slice(1).map((key, index) => edgeName([keys[index] as string, key])));
