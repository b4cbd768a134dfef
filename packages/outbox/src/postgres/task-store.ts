import { type Database, isSqlError, type Queryable, type SqlParameter, type Tx } from '@millrace/postgres';
import { ERRORS } from '../errors.js';
import type { OutboxStatus } from '../model.js';
import type {
  ClaimedTask,
  Claimer,
  EndedTasks,
  ExpiredTask,
  FullLook,
  NewTask,
  TaskEnd,
  TaskReturn,
  TaskStore,
} from '../ports.js';
import { DIRECT_PARENTS_MAX } from '../rules/task-counts.js';
import type { Statements } from './statements.js';

interface HeadRow {
  readonly dag: string;
  readonly since: number;
}

const SEEN_AS = { success: 1, end: 0, nothing: null } as const;

/** The statements about single tasks. */
export class PostgresTaskStore implements TaskStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

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

  async heads({ dags, ids, agoMs, tookAll }: FullLook): Promise<ReadonlyMap<string, number>> {
    const { sql } = this.#statements.get('read-heads');
    const params = [dags, ids, agoMs, tookAll];
    const { rows } = await this.#database.query<HeadRow>(sql, params, { repeatable: true });
    return new Map(rows.map(({ dag, since }) => [dag, since]));
  }

  async end(source: Queryable, ends: readonly TaskEnd[]): Promise<EndedTasks> {
    const { sql, name } = this.#statements.get('end-tasks');
    const { rows } = await source.query<EndRow>(sql, endParameters(ends, false), { name });
    return toEndedTasks(rows);
  }

  async endAndCommit(tx: Tx, end: TaskEnd): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('end-tasks');
    try {
      const result = await tx.commitWith<EndRow>(sql, endParameters([end], true), { name });
      return result && toEndedTasks(result.rows).ready;
    } catch (error) {
      throw isSqlError(error, 'MR009') ? ERRORS.create('CLAIM_LOST', {}, { cause: error }) : error;
    }
  }

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

  async backoffMs(id: string): Promise<number | undefined> {
    const { sql, name } = this.#statements.get('read-backoff');
    const { rows } = await this.#database.query<{ ms: number }>(sql, [id], { name, repeatable: true });
    return rows[0]?.ms;
  }

  async doneBefore(ends: readonly TaskEnd[]): Promise<ReadonlySet<string>> {
    const { sql } = this.#statements.get('read-claims');
    const params = [ends.map(({ id }) => id), ends.map(({ claimId }) => claimId)];
    const { rows } = await this.#database.query<{ id: string }>(sql, params, { repeatable: true });
    return new Set(rows.map(({ id }) => id));
  }

  async lockDescendants(tx: Tx, id: string): Promise<void> {
    await tx.query(this.#statements.get('lock-descendants').sql, [id]);
  }

  async lockReady(tx: Tx, { batchId, id }: ExpiredTask): Promise<void> {
    await tx.query(this.#statements.get('lock-ready-tasks').sql, [batchId, id]);
  }

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

  async failBatch(tx: Tx, batchId: string): Promise<void> {
    await tx.query(this.#statements.get('fail-batch').sql, [batchId]);
  }

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

  async lockExpired(tx: Tx, { id, claimId }: ExpiredTask, isDead: boolean): Promise<boolean> {
    const { rows } = await tx.query(this.#statements.get('lock-expired').sql, [id, claimId, isDead]);
    return rows.length > 0;
  }

  async tidyLeases(notesMax: number): Promise<boolean> {
    const { rows } = await this.#database.query<{ due: number }>(this.#statements.get('tidy-leases').sql, [
      notesMax,
    ]);
    return rows[0]?.due === notesMax;
  }

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

/** Maps a refusal of outbox_add_tasks to its error. */
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
