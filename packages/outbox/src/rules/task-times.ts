import type { OutboxStatus } from '../model.js';
import type { TimedTask } from './critical-path.js';

/** The known times of a task. */
export interface TaskTimes {
  readonly key: string;
  readonly handler: string;
  readonly status: OutboxStatus;
  /** Time of its last attempt, so far if it runs. */
  readonly ranMs: number | undefined;
  /** If READY: time until it may start. */
  readonly delayMs: number;
}

/**
 * Returns the time of each task, measured or expected: the average of its handler, or of all tasks if there is none.
 * @returns undefined if no time is known.
 */
export function timeTasks(
  tasks: readonly TaskTimes[],
  usualMs: ReadonlyMap<string, number>,
): readonly TimedTask[] | undefined {
  const done = tasks.filter(({ status, ranMs }) => status === 'DONE' && ranMs !== undefined);
  const averages = new Map(usualMs);
  for (const [handler, own] of byHandler(done)) averages.set(handler, averageOf(own));
  const known = done.length > 0 ? averageOf(done) : average([...usualMs.values()]);
  const isOpen = ({ status }: TaskTimes) => status === 'READY' || status === 'PROCESSING';
  if (known === undefined && tasks.some(isOpen)) return undefined;
  return tasks.map((task) => {
    const { key, handler, status, ranMs = 0, delayMs } = task;
    if (!isOpen(task)) return { key, ms: status === 'DONE' || status === 'FAILED' ? ranMs : 0, leftMs: 0 };
    const expectedMs = averages.get(handler) ?? known ?? 0;
    if (status === 'READY') return { key, ms: delayMs + expectedMs, leftMs: delayMs + expectedMs };
    return { key, ms: Math.max(expectedMs, ranMs), leftMs: Math.max(0, expectedMs - ranMs) };
  });
}

function byHandler(tasks: readonly TaskTimes[]): ReadonlyMap<string, readonly TaskTimes[]> {
  const groups = new Map<string, TaskTimes[]>();
  for (const task of tasks) {
    const group = groups.get(task.handler);
    if (group) group.push(task);
    else groups.set(task.handler, [task]);
  }
  return groups;
}

const average = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

const averageOf = (tasks: readonly TaskTimes[]): number => average(tasks.map(({ ranMs = 0 }) => ranMs)) ?? 0;
