import { type Database, isSqlError, type Queryable, type SqlParameter, type Tx } from '@millrace/postgres';
import { ERRORS } from '../errors.js';
import type { FailurePolicy, OutboxStatus, TaskError, TaskMode } from '../model.js';
import type { TaskHandler } from '../registry.js';
import { DIRECT_PARENTS_MAX } from '../rules/task-counts.js';
import type { Statements } from './statements.js';

/** A task in the hands of this worker, with what its handler is given. */
export interface ClaimedTask {
  readonly id: string;
  /** Names this claim and no other, ever. */
  readonly claimId: string;
  readonly batchId: string;
  readonly taskKey: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  /** This try, from 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  readonly lost: number;
  readonly tenant: string;
  readonly dag: string;
  readonly bizKey: string;
  readonly runNo: number;
  readonly traceparent: string | null;
  readonly payload: unknown;
  /** None for a root. */
  readonly inputs: Readonly<Record<string, unknown>> | null;
}

/** A failure to be written down; when it was is said by the database. */
export type Failure = Omit<TaskError, 'at'>;

/** How a task ends. */
export interface TaskEnd {
  readonly id: string;
  /** None for a waiting task that can no longer start. */
  readonly claimId: string | undefined;
  readonly status: Extract<OutboxStatus, 'DONE' | 'FAILED' | 'SKIPPED'>;
  /** JSON text. */
  readonly result?: string | undefined;
  readonly error?: Failure | undefined;
  /** What its successors see; nothing when they are cancelled. */
  readonly seenAs: 'success' | 'end' | 'nothing';
}

/** What ends of tasks have brought about. */
export interface EndedTasks {
  /** Ids of the tasks whose claim held. */
  readonly ended: ReadonlySet<string>;
  /** How many others can run now. */
  readonly ready: number;
  /** Waiting tasks that can no longer start. */
  readonly skip: readonly string[];
}

/** A task that another one adds to its batch. */
export interface NewTask {
  readonly key: string;
  readonly handler: Pick<TaskHandler, 'name' | 'dag' | 'mode' | 'onFailure' | 'attemptsMax' | 'timeoutMs'>;
  /** JSON text; that of the batch when it is null. */
  readonly payload: string;
  /** Successors that wait for it. */
  readonly before: readonly string[];
}

/** A claim that is given back. */
export interface TaskReturn {
  readonly id: string;
  readonly claimId: string;
  readonly batchId: string;
  readonly delayMs: number;
  /** Whether this try does not count. */
  readonly attemptReturned: boolean;
  /** Whether it counts as lost. */
  readonly lost: boolean;
  readonly error?: Failure | undefined;
}

/** A claim whose lease has expired. */
export interface ExpiredTask
  extends Pick<
    ClaimedTask,
    'id' | 'claimId' | 'batchId' | 'taskKey' | 'handler' | 'lost' | 'onFailure' | 'traceparent'
  > {}

/** Who claims. */
export interface Claimer {
  readonly dags: readonly string[];
  readonly versions: readonly number[];
  readonly workerId: string;
  readonly leaseMs: number;
}

/** A claim that looked at all entries. */
export interface FullLook {
  readonly dags: readonly string[];
  /** What it took. */
  readonly ids: readonly string[];
  /** When it began. */
  readonly agoMs: number;
  /** Whether nothing was left. */
  readonly tookAll: boolean;
}

interface HeadRow {
  readonly dag: string;
  readonly since: number;
}

const SEEN_AS = { success: 1, end: 0, nothing: null } as const;

/** The statements about single tasks. Every change of a claimed one names its claim. */
export class TaskStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /**
   * Takes up to `limit` tasks that can run now.
   * @param limit - how many.
   * @param heads - from when on to look, by DAG; from the first entry where there is none.
   */
  async claim(
    { dags, versions, workerId, leaseMs }: Claimer,
    limit: number,
    heads?: ReadonlyMap<string, number>,
  ): Promise<readonly ClaimedTask[]> {
    const { sql, name } = this.#statements.get('claim-ready');
    const since = dags.map((dag) => heads?.get(dag) ?? null);
    const params = [dags, since, versions, limit, workerId, leaseMs];
    const { rows } = await this.#database.query<ClaimedTask>(sql, params, { name });
    return rows;
  }

  /** From when on the next claims have to look, after one that looked at everything. */
  async heads({ dags, ids, agoMs, tookAll }: FullLook): Promise<ReadonlyMap<string, number>> {
    const { sql } = this.#statements.get('read-heads');
    const params = [dags, ids, agoMs, tookAll];
    const { rows } = await this.#database.query<HeadRow>(sql, params, { repeatable: true });
    return new Map(rows.map(({ dag, since }) => [dag, since]));
  }

  /**
   * Ends tasks whose claims hold.
   * @param source - the handler's own transaction, or the database.
   * @param ends - at least one.
   */
  async end(source: Queryable, ends: readonly TaskEnd[]): Promise<EndedTasks> {
    const { sql, name } = this.#statements.get('end-tasks');
    const { rows } = await source.query<EndRow>(sql, endParameters(ends, false), { name });
    return toEndedTasks(rows);
  }

  /**
   * Ends a task and commits the transaction of its handler, in one round trip.
   * @param tx - the handler's own transaction.
   * @returns how many other tasks can run now; undefined when it has been committed and nobody knows.
   * @throws MillraceError `CLAIM_LOST`: everything has been rolled back; those of a COMMIT.
   */
  async endAndCommit(tx: Tx, end: TaskEnd): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('end-tasks');
    try {
      const result = await tx.commitWith<EndRow>(sql, endParameters([end], true), { name });
      return result && toEndedTasks(result.rows).ready;
    } catch (error) {
      throw isSqlError(error, 'MR009') ? ERRORS.create('CLAIM_LOST', {}, { cause: error }) : error;
    }
  }

  /**
   * Adds tasks to the batch of a claimed one.
   * @param added - at least one.
   * @throws MillraceError `TASKS_INVALID`, `BATCH_TOO_LARGE`.
   */
  async add(tx: Tx, by: ClaimedTask, added: readonly NewTask[], tasksMax: number): Promise<void> {
    const handlers = added.map(({ handler }) => handler);
    const edges = added.flatMap(({ key, before }) => before.map((successor) => [key, successor] as const));
    try {
      await tx.query(this.#statements.get('add-tasks').sql, [
        by.batchId,
        by.taskKey,
        tasksMax,
        added.map(({ key }) => key),
        handlers.map(({ dag }) => dag),
        handlers.map(({ name }) => name),
        handlers.map(({ mode }) => mode),
        handlers.map(({ onFailure }) => onFailure),
        handlers.map(({ attemptsMax }) => attemptsMax),
        handlers.map(({ timeoutMs }) => timeoutMs),
        added.map(({ payload }) => payload),
        edges.map(([key]) => key),
        edges.map(([, successor]) => successor),
        DIRECT_PARENTS_MAX,
      ]);
    } catch (error) {
      throw refusalOf(error, by, tasksMax) ?? error;
    }
  }

  /** The first delay of a task's retries, as the definition has it; undefined for a task that was added to its batch. */
  async backoffMs(id: string): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('read-backoff');
    const { rows } = await this.#database.query<{ ms: number }>(sql, [id], { name, repeatable: true });
    return rows[0]?.ms;
  }

  /** Which of these claims have ended as DONE: for when the reply to `end` was lost. */
  async doneBefore(ends: readonly TaskEnd[]): Promise<ReadonlySet<string>> {
    const { sql } = this.#statements.get('read-claims');
    const params = [ends.map(({ id }) => id), ends.map(({ claimId }) => claimId)];
    const { rows } = await this.#database.query<{ id: string }>(sql, params, { repeatable: true });
    return new Set(rows.map(({ id }) => id));
  }

  /** Locks a task and everything behind it that is open, before an end of which others are skipped. */
  async lockDescendants(tx: Tx, id: string): Promise<void> {
    await tx.query(this.#statements.get('lock-descendants').sql, [id]);
  }

  /** Locks a task and all tasks of its batch that have not started, before it fails the batch. */
  async lockReady(tx: Tx, { batchId, id }: ExpiredTask): Promise<void> {
    await tx.query(this.#statements.get('lock-ready-tasks').sql, [batchId, id]);
  }

  /**
   * Ends waiting tasks that can no longer start, and those that then cannot either.
   * @param first - ids from `end` or a fold.
   * @returns how many others can run now.
   */
  async skip(tx: Tx, first: readonly string[]): Promise<number> {
    let ready = 0;
    for (let ids = first; ids.length > 0; ) {
      const outcome = await this.end(
        tx,
        ids.map((id) => ({ id, claimId: undefined, status: 'SKIPPED', seenAs: 'end' })),
      );
      ready += outcome.ready;
      ids = outcome.skip;
    }
    return ready;
  }

  /**
   * Gives claims back that still hold.
   * @param returns - at least one.
   * @param options - `expired`: only where the lease is over.
   * @returns the ids that are READY again, and those that were cancelled because their batch is failing.
   */
  async giveBack(
    returns: readonly TaskReturn[],
    { expired = false } = {},
  ): Promise<{ readonly ready: ReadonlySet<string>; readonly cancelled: ReadonlySet<string> }> {
    const { sql } = this.#statements.get('return-tasks');
    const { rows } = await this.#database.query<{ id: string; status: OutboxStatus }>(sql, [
      returns.map(({ id }) => id),
      returns.map(({ claimId }) => claimId),
      returns.map(({ batchId }) => batchId),
      returns.map(({ delayMs }) => delayMs),
      returns.map(({ attemptReturned }) => Number(attemptReturned)),
      returns.map(({ lost }) => Number(lost)),
      returns.map(({ error }) => error && JSON.stringify(error)),
      expired,
    ]);
    const idsIn = (status: OutboxStatus) =>
      new Set(rows.filter((row) => row.status === status).map(({ id }) => id));
    return { ready: idsIn('READY'), cancelled: idsIn('CANCELLED') };
  }

  /** Lets nothing more start in a batch. */
  async failBatch(tx: Tx, batchId: string): Promise<void> {
    await tx.query(this.#statements.get('fail-batch').sql, [batchId]);
  }

  /** Extends leases; gives the ids whose claim is gone. */
  async extend(
    claims: readonly { readonly id: string; readonly claimId: string }[],
    leaseMs: number,
  ): Promise<ReadonlySet<string>> {
    const { sql } = this.#statements.get('extend-leases');
    const { rows } = await this.#database.query<{ id: string }>(
      sql,
      [claims.map(({ id }) => id), claims.map(({ claimId }) => claimId), leaseMs],
      { repeatable: true },
    );
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Claims whose lease has expired.
   * @param who - `passOver`: how the ids of workers begin that are alive whatever their leases say; `othersAreDead`: and all others are not.
   */
  async expired(
    { passOver, othersAreDead }: { readonly passOver?: string | undefined; readonly othersAreDead: boolean },
    limit: number,
  ): Promise<readonly ExpiredTask[]> {
    const { sql } = this.#statements.get('expired-leases');
    const { rows } = await this.#database.query<ExpiredTask>(sql, [passOver, limit, othersAreDead], {
      repeatable: true,
    });
    return rows;
  }

  /** Locks a task whose lease has expired; false when its worker has been heard of meanwhile. */
  async lockExpired(tx: Tx, { id, claimId }: ExpiredTask, isDead: boolean): Promise<boolean> {
    const { rows } = await tx.query(this.#statements.get('lock-expired').sql, [id, claimId, isDead]);
    return rows.length > 0;
  }

  /** Forgets notes of claims whose tasks have ended; gives whether there may be more that are due. */
  async tidyLeases(notesMax: number): Promise<boolean> {
    const { rows } = await this.#database.query<{ due: number }>(this.#statements.get('tidy-leases').sql, [
      notesMax,
    ]);
    return rows[0]?.due === notesMax;
  }

  /** Brings leases and delays back that a clock's jump has put out of reach. */
  async clampTimes(dags: readonly string[], aheadMs: number): Promise<number> {
    const { sql } = this.#statements.get('clamp-times');
    const { rows } = await this.#database.query<{ clamped: number }>(sql, [aheadMs, dags]);
    return rows[0]?.clamped ?? 0;
  }
}

interface EndRow {
  readonly what: 'ended' | 'ready' | 'skip';
  readonly id: string;
}

function endParameters(ends: readonly TaskEnd[], must: boolean): readonly SqlParameter[] {
  return [
    ends.map(({ id }) => id),
    ends.map(({ claimId }) => claimId),
    ends.map(({ status }) => status),
    ends.map(({ result }) => result),
    ends.map(({ error }) => error && JSON.stringify(error)),
    ends.map(({ seenAs }) => SEEN_AS[seenAs]),
    must,
  ];
}

function toEndedTasks(rows: readonly EndRow[]): EndedTasks {
  const idsOf = (what: string) => rows.filter((row) => row.what === what).map(({ id }) => id);
  return { ended: new Set(idsOf('ended')), ready: idsOf('ready').length, skip: idsOf('skip') };
}

/** What outbox_add_tasks says no with. */
function refusalOf(error: unknown, { handler, dag }: ClaimedTask, max: number): Error | undefined {
  const invalid = (reason: string) => ERRORS.create('TASKS_INVALID', { handler, reason }, { cause: error });
  if (isSqlError(error, 'MR001')) {
    const what = 'The number of tasks of a batch';
    return ERRORS.create('BATCH_TOO_LARGE', {
      what,
      dag,
      given: error.detail,
      max,
      option: 'tasksPerBatchMax',
    });
  }
  if (isSqlError(error, 'MR002')) return invalid(`its batch has a task '${error.detail}' already`);
  if (isSqlError(error, 'MR003'))
    return invalid(`'before' names '${error.detail}', which is no task that still waits`);
  return undefined;
}
