import { readFileSync } from 'node:fs';
import { type DagDefinition, defineDag, Outbox, type OutboxOptions, task } from '@millrace/outbox';
import { type Database, PgDatabase, type TransactionOptions, type Tx } from '@millrace/postgres';
import { type Ledger, openLedger } from '@millrace/testkit/ledger';
import { isWanted, Performer } from './perform.js';
import type { Plan } from './plan.js';
import { TRIES } from './scripts.js';
import { applicationOf, CALL_TIMEOUT_MS, type OutboxBrief, SLOTS } from './settings.js';
import type { PlannedDag, PlannedTask } from './shapes.js';
import { INSERT_END } from './tables.js';

/** One process' own part of the outbox. */
export interface OpenedOutbox {
  readonly outbox: Outbox;
  readonly database: Database;
  readonly ledger: Ledger;
  readonly plan: Plan;
  close(): Promise<void>;
}

/** Beside the handlers: what the outbox itself needs, and one for the caller. */
const CONNECTIONS_BESIDE = 4;
/** As short as makes a failed try be over within a scenario. */
const BACKOFF_MS = 100;

/** Runs every transaction as SERIALIZABLE. Handlers and the outbox must retry after each conflict. */
class StrictDatabase extends PgDatabase {
  override transaction<T>(fn: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return super.transaction(fn, { ...options, isolation: 'serializable' });
  }
}

/** Makes the outbox of one process; nothing is started. */
export function openOutbox(brief: OutboxBrief, poll: boolean): OpenedOutbox {
  const { url, strict = false, slots = SLOTS } = brief;
  const database = new (strict ? StrictDatabase : PgDatabase)({
    url,
    poolSize: (poll ? slots : 0) + CONNECTIONS_BESIDE,
    callTimeoutMs: CALL_TIMEOUT_MS,
    applicationName: applicationOf(process.pid),
  });
  return openOutboxOn(database, brief, { poll, concurrency: slots });
}

/** Makes the outbox of one process on a database of any kind; nothing is started. */
export function openOutboxOn(
  database: Database,
  brief: Omit<OutboxBrief, 'url' | 'beginsAt'>,
  options: Pick<OutboxOptions, 'poll' | 'concurrency' | 'lostMax'>,
): OpenedOutbox {
  const plan = JSON.parse(readFileSync(brief.plan, 'utf8')) as Plan;
  const ledger = openLedger(brief.ledger);
  const performer = new Performer(ledger, brief.marks);
  const outbox = new Outbox({
    database,
    dags: plan.dags.map((dag) => definitionOf(dag, performer)),
    leaseMs: brief.leaseMs,
    ...options,
  });
  // Whoever aborts a batch ends it, too: every process has the listener.
  outbox.onBatchEnd(async (tx, { bizKey, status }) => {
    await tx.query(INSERT_END, [bizKey, status]);
  });
  const close = async () => {
    await outbox.stop();
    await database.stop();
  };
  return { outbox, database, ledger, plan, close };
}

/**
 * Starts it as the work of a child process: says `up` to the parent when it has started, drains on SIGTERM, and does not
 * outlive its parent. One that cannot start (PostgreSQL is away) ends, and its parent tries again.
 */
export async function serveParent({ outbox, ledger, close }: OpenedOutbox): Promise<void> {
  process.on('disconnect', () => process.exit(1));
  process.once('SIGTERM', async () => {
    await close();
    process.removeAllListeners('disconnect');
    process.disconnect();
  });
  try {
    await outbox.start();
  } catch (error) {
    ledger.append({ kind: 'not-started', error: String(error).slice(0, 300) });
    process.exit(1);
  }
  process.send?.('up');
}

/** A planned DAG as the outbox is told of it. */
export function definitionOf(dag: PlannedDag, performer: Performer): DagDefinition {
  const defined = dag.tasks.filter(({ addedBy }) => addedBy === undefined);
  const isDefined = (key: string) => defined.some((other) => other.key === key);
  const settings = ({ key, after, join, onFailure, conditional }: PlannedTask) => ({
    after: after.filter(isDefined),
    join,
    onFailure,
    ...(conditional
      ? { when: (inputs: Readonly<Record<string, unknown>>) => isWanted(key, inputs) }
      : undefined),
    retry: { retries: TRIES - 1 },
    backoffMs: BACKOFF_MS,
  });
  return defineDag(
    dag.name,
    defined.map((each) => [
      each.key,
      each.mode === 'external'
        ? task({
            ...settings(each),
            mode: 'external',
            run: (context) => performer.external(dag, context as never),
          })
        : task({ ...settings(each), run: (context) => performer.transactional(dag, context as never) }),
    ]),
  );
}
