import {
  type DagDefinition,
  defineDag,
  migrateOutbox,
  Outbox,
  type OutboxOptions,
  task,
} from '@millrace/outbox';
import { PgDatabase } from '@millrace/postgres';
import { inBatches, payloadOf, sequence } from '../bulk/jobs.js';
import type { Contender, WorkerOptions } from './contender.js';
import { administer, databaseUrl, EFFECT_NAME, INSERT_EFFECT } from './server.js';

/** Tasks of a batch, where they are handed in as batches of many. */
export const TASKS_PER_BATCH = 1000;
/** Calls of start under way, where a batch is one task: nobody would wait for each commit before the next call. */
const UNDER_WAY = 8;
/** Connections beside one for each task that runs; checked by Outbox. */
const CONNECTIONS_BESIDE = 3;
const DAG = 'flat';

/** An outbox with a pool of its own, which ends with it. */
export interface OpenOutbox {
  readonly outbox: Outbox;
  /** Ends both. */
  close(): Promise<void>;
}

/** Opens an outbox on the server of this run, or on another one; not started. */
export async function openOutbox(
  options: Omit<OutboxOptions, 'database'> & { readonly dags: readonly DagDefinition[] },
  url?: string,
): Promise<OpenOutbox> {
  const poolSize = (options.concurrency ?? 10) + CONNECTIONS_BESIDE;
  const database = new PgDatabase({ url: url ?? (await databaseUrl()), poolSize });
  const outbox = new Outbox({ ...options, database });
  return {
    outbox,
    async close() {
      await outbox.stop();
      await database.stop();
    },
  };
}

/** Makes the tables, or empties all but the definitions of DAGs. */
export async function emptyOutbox(): Promise<void> {
  const database = new PgDatabase({ url: await databaseUrl() });
  await migrateOutbox(database);
  await database.stop();
  const tables = await administer(
    "SELECT format('millrace.%I', tablename) AS name FROM pg_tables WHERE schemaname = 'millrace' AND (tablename = 'batch_instance' OR starts_with(tablename, 'outbox_'))",
  );
  await administer(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`);
}

/** A statement that answers `{ open: false }` when every batch has ended. */
export const ANY_BATCH_OPEN =
  "SELECT EXISTS (SELECT FROM millrace.batch_instance WHERE status = 'RUNNING') AS open";

/** Independent tasks, all of the same kind. */
export function flatDag(
  tasks: number,
  { effect, onTask }: Omit<WorkerOptions, 'concurrency'>,
): DagDefinition {
  const one = effect
    ? task({
        async run({ tx, taskKey }) {
          await tx.query(INSERT_EFFECT, [taskKey], { name: EFFECT_NAME });
          onTask();
        },
      })
    : task({ mode: 'external', run: () => onTask() });
  return defineDag(
    `${DAG}-${tasks}-${effect ? 'transactional' : 'external'}`,
    sequence(0, tasks, (index) => [`task-${index}`, one] as const),
  );
}

/** How flat tasks are given to the outbox. */
interface FlatTasks {
  /** Tasks of one batch. */
  readonly perBatch: number;
  /** Whether they have an effect in the database, and so are transactional. */
  readonly effect: boolean;
}

/** Our outbox. */
export const millrace = ({ perBatch, effect }: FlatTasks): Contender => ({
  name: perBatch === 1 ? 'Millrace, one-task batches' : 'Millrace',
  // Stricter than "all tasks are DONE": the batches have ended, too.
  anyOpen: ANY_BATCH_OPEN,

  empty: emptyOutbox,

  async openProducer() {
    const dag = flatDag(perBatch, { effect, onTask: () => {} });
    const { outbox, close } = await openOutbox({ poll: false, dags: [dag] });
    await outbox.start();
    return {
      insert: (tasks) =>
        inBatches({ total: tasks, size: perBatch, underWay: perBatch === 1 ? UNDER_WAY : 1 }, (from) =>
          outbox.pusher.start(dag.name, `batch-${from}`, payloadOf(from)),
        ),
      close,
    };
  },

  async openWorker(options) {
    const dag = flatDag(perBatch, options);
    const { outbox, close } = await openOutbox({ concurrency: options.concurrency, dags: [dag] });
    return { start: () => outbox.start(), close };
  },
});
