import { type DagDefinition, defineDag, task } from '@millrace/outbox';
import { sequence } from '../bulk/jobs.js';
import { type ChainBrief, chainDag, type Step } from './chain.js';
import { flatDag } from './millrace.js';

/** A description of a DAG that can be sent to another process. */
export type DagBrief =
  | ({ readonly kind: 'chain' } & ChainBrief)
  | { readonly kind: 'flat' | 'fan-in'; readonly tasks: number };

/** Makes the DAG of a brief. Every process makes the same one. */
export function dagOf(brief: DagBrief, onStep: (step: Step) => void = () => {}): DagDefinition {
  if (brief.kind === 'chain') return chainDag(brief, onStep);
  if (brief.kind === 'fan-in') return fanInDag(brief.tasks);
  return flatDag(brief.tasks, { effect: false, onTask: () => {} });
}

/**
 * Makes a DAG of independent tasks and one task that waits for all of them.
 * @param tasks - number of independent tasks.
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
