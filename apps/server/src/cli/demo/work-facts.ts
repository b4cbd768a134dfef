import type { ResponseOf } from '@millrace/contract/server-client';
import { type BatchFacts, type OperationFacts, type StepFacts, spreadOf } from './facts.js';

type Batch = ResponseOf<'listBatches'>['items'][number];
type BatchDetails = ResponseOf<'getBatch'>;
type Operation = ResponseOf<'listOperations'>['items'][number];

/**
 * What became of the batches of a demo.
 * @param newest - the details of the newest; undefined: there is none.
 */
export function batchFacts(batches: readonly Batch[], newest: BatchDetails | undefined): BatchFacts {
  const count = (...states: readonly Batch['status'][]) =>
    batches.filter(({ status }) => states.includes(status)).length;
  return {
    done: count('DONE'),
    failed: count('FAILED', 'ABORTED'),
    open: count('RUNNING'),
    newest: newest ? stepsOf(newest) : [],
  };
}

const STATES: Readonly<Record<BatchDetails['tasks'][number]['status'], StepFacts['state']>> = {
  READY: 'waiting',
  PROCESSING: 'running',
  DONE: 'done',
  FAILED: 'failed',
  SKIPPED: 'left out',
  CANCELLED: 'left out',
};

/** The steps in the order of their edges: each stands behind everything that it waits for. */
function stepsOf({ tasks, edges }: BatchDetails): readonly (readonly StepFacts[])[] {
  const levels = new Map(tasks.map(({ key }) => [key, 0]));
  // A DAG has no longer path than it has tasks.
  for (let round = 0; round < tasks.length; round++)
    for (const [from, to] of edges ?? [])
      levels.set(to, Math.max(levels.get(to) ?? 0, (levels.get(from) ?? 0) + 1));
  const depth = Math.max(-1, ...levels.values()) + 1;
  return Array.from({ length: depth }, (_, level) =>
    tasks
      .filter(({ key }) => levels.get(key) === level)
      .map(({ key, status }) => ({ key, state: STATES[status] })),
  );
}

/** What became of the operations of a demo. */
export function operationFacts(operations: readonly Operation[]): OperationFacts {
  const completed = operations.filter(({ state }) => state === 'COMPLETED');
  const failed = operations.filter(({ state }) => state === 'FAILED').length;
  return {
    completed: completed.length,
    failed,
    open: operations.length - completed.length - failed,
    medianMs:
      spreadOf(
        completed.map(({ acceptedAt, endedAt }) =>
          endedAt === null ? null : Date.parse(endedAt) - Date.parse(acceptedAt),
        ),
      )?.median ?? null,
  };
}
