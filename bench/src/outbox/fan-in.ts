import { type DagDefinition, defineDag, task } from '@millrace/outbox';
import { sequence } from '../bulk/jobs.js';

/**
 * Independent tasks, and one that waits for all of them.
 * @param tasks - how many it waits for.
 */
export function fanInDag(tasks: number): DagDefinition {
  const keys = sequence(0, tasks, (index) => `task-${index}`);
  const noop = (after: readonly string[]) => task({ mode: 'external', after, run: () => {} });
  const first = noop([]);
  return defineDag(`fan-in-${tasks}`, [
    ...keys.map((key) => [key, first] as const),
    ['join', noop(keys)] as const,
  ]);
}
