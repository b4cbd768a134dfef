import type { DagDefinition, TaskContext, TransactionalContext } from '@millrace/outbox';

type Defining = Pick<typeof import('@millrace/outbox'), 'defineDag' | 'task'>;

/** What the tasks do; who only starts batches does nothing. */
export interface RollingActs {
  readonly load: (context: TaskContext) => Promise<void>;
  readonly row: (context: TransactionalContext) => Promise<void>;
}

/** What every batch is of. */
export const ROLLING_DAG = 'rolling';

/** Tasks that write a row, each. */
export const ROW_TASKS = ['book', 'left', 'right', 'close'] as const;

/** The same shape in every process, whatever its release. */
export const rollingDag = ({ defineDag, task }: Defining, { load, row }: RollingActs): DagDefinition =>
  defineDag(ROLLING_DAG, {
    load: task({ mode: 'external', run: load }),
    book: task({ after: ['load'], run: row }),
    left: task({ after: ['book'], run: row }),
    right: task({ after: ['book'], run: row }),
    close: task({ after: ['left', 'right'], run: row }),
  });
