import { type Database, quoteIdentifier } from '@millrace/postgres';
import type { BatchStatus, FailurePolicy, OutboxStatus } from '../src/model.js';

/** What a test says of the batches it leaves behind. */
export interface InvariantOptions {
  /** Every batch has ended and every tick is counted; true unless given. */
  readonly ended?: boolean | undefined;
  /**
   * Batches were retried while they ran: a task may then have started by the end of a parent that has been taken back since, so who
   * could start is not asked.
   */
  readonly retried?: boolean | undefined;
  /** Only this batch; all of them unless given. */
  readonly batch?: string | undefined;
}

interface BatchRow {
  readonly id: string;
  readonly dag_version: number;
  readonly status: BatchStatus;
  readonly failing: boolean;
  readonly task_cnt: number;
  readonly open_cnt: number;
  readonly counts: Readonly<Record<string, number>> | null;
  readonly ended_at: Date | null;
}

interface TaskRow {
  readonly id: string;
  readonly batch_id: string;
  readonly dag_version: number;
  readonly task_key: string;
  readonly status: OutboxStatus;
  readonly on_failure: FailurePolicy;
  readonly pre_cnt: number;
  readonly open_cnt: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly lost_cnt: number;
  readonly worker_id: string | null;
  readonly claim_id: string | null;
  readonly lease_until: Date | null;
  readonly has_result: boolean;
  readonly has_error: boolean;
  readonly skipped_by: 'condition' | 'cascade' | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  /** Entries that a claim would take it by. */
  readonly entries: number;
  /** Notes by which a sweep would find it. */
  readonly notes: number;
  readonly letters: number;
}

interface Definition {
  readonly join: string;
  readonly need: number;
}

interface Ticks {
  readonly ok: number;
  readonly end: number;
}

/** The tables at one moment, by batch. */
interface Snapshot {
  readonly batches: readonly BatchRow[];
  readonly tasksOf: ReadonlyMap<string, ReadonlyMap<string, TaskRow>>;
  /** Keys of the parents; by version and by batch. */
  readonly parentsOf: ReadonlyMap<string, readonly string[]>;
  readonly addedParentsOf: ReadonlyMap<string, readonly string[]>;
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly keysOf: ReadonlyMap<number, readonly string[]>;
  readonly ticks: ReadonlyMap<string, Ticks>;
}

const NO_TICKS: Ticks = { ok: 0, end: 0 };
const isOpen = (status: OutboxStatus) => status === 'READY' || status === 'PROCESSING';
const name = (...parts: readonly (string | number | null)[]) => JSON.stringify(parts);

/**
 * Looks at every batch of an outbox, and recomputes from tasks and edges alone what counters and states must be. May be called at any
 * moment: all tables are read as they are at one.
 * @returns what is wrong; nothing when all is well.
 */
export async function findViolations(
  database: Database,
  schema: string,
  { ended = true, retried = false, batch: only }: InvariantOptions = {},
): Promise<string[]> {
  const snapshot = await readTables(database, quoteIdentifier(schema), only);
  const wrong: string[] = [];
  for (const batch of snapshot.batches) {
    const tasks = snapshot.tasksOf.get(batch.id) ?? new Map<string, TaskRow>();
    const say = (text: string) => wrong.push(`batch ${batch.id} (${batch.status}): ${text}`);
    checkBatch(batch, tasks, snapshot, say);
    for (const task of tasks.values()) {
      const sayOfTask = (text: string) => say(`${task.task_key} (${task.status}) ${text}`);
      checkFields(task, sayOfTask);
      checkCounts(task, tasks, snapshot, { retried, isFailing: batch.failing }, sayOfTask);
    }
    if (ended && batch.status === 'RUNNING') say('has not ended');
  }
  const known = new Set(snapshot.batches.map(({ id }) => id));
  for (const [target, ticks] of snapshot.ticks) {
    const [batchId] = JSON.parse(target) as [string];
    if (!known.has(batchId)) wrong.push(`ticks of batch ${batchId}, which is not there`);
    if (ended) wrong.push(`ticks ${target} are not counted: ${JSON.stringify(ticks)}`);
  }
  return [...wrong, ...sharedClaims(snapshot)];
}

/** Batches agree with their tasks: each task of the definition once, what is open, and the state that the tasks imply. */
function checkBatch(
  batch: BatchRow,
  tasks: ReadonlyMap<string, TaskRow>,
  { keysOf, ticks }: Snapshot,
  say: (text: string) => void,
): void {
  const missing = (keysOf.get(batch.dag_version) ?? []).filter((key) => !tasks.has(key));
  if (missing.length > 0) say(`has lost its tasks ${missing.join()}`);
  if (tasks.size !== batch.task_cnt) say(`says ${batch.task_cnt} tasks and has ${tasks.size}`);
  const all = [...tasks.values()];
  const open = all.filter(({ status }) => isOpen(status)).length;
  const pending = (ticks.get(name(batch.id, null)) ?? NO_TICKS).end;
  if (batch.open_cnt - pending !== open)
    say(`open_cnt ${batch.open_cnt} less ${pending} in ticks, but ${open} tasks are open`);

  const hasEnded = batch.status !== 'RUNNING';
  if (hasEnded !== (batch.ended_at !== null))
    say(`ended_at is ${hasEnded ? 'missing' : 'set though it runs'}`);
  if (!hasEnded) return;
  if (open > 0) say(`${open} tasks are open`);
  const counts: Record<string, number> = {};
  for (const { status } of all) counts[status] = (counts[status] ?? 0) + 1;
  const sorted = (given: object | null) => JSON.stringify(Object.entries(given ?? {}).sort());
  if (sorted(counts) !== sorted(batch.counts))
    say(`counts ${sorted(batch.counts)}, but tasks are ${sorted(counts)}`);
  const isFailed = all.some(({ status, on_failure }) => status === 'FAILED' && on_failure === 'fail');
  if (batch.status === 'DONE' && (isFailed || batch.failing)) say('a task has failed under `fail`');
  if (batch.status === 'DONE' && counts.CANCELLED) say(`${counts.CANCELLED} tasks are cancelled`);
  if (batch.status === 'FAILED' && !(isFailed && batch.failing)) say('no task has failed under `fail`');
}

/** A state and the columns that belong to it. */
function checkFields(task: TaskRow, say: (text: string) => void): void {
  const { status } = task;
  const isClaimed = status === 'PROCESSING';
  if (isClaimed !== (task.lease_until !== null)) say(`lease_until is ${String(task.lease_until)}`);
  if (isClaimed && (task.claim_id === null || task.worker_id === null)) say('has no claim');
  if ((status === 'READY' || status === 'CANCELLED') && task.claim_id !== null) say('has still a claim');
  if (!isOpen(status) !== (task.ended_at !== null)) say(`ended_at is ${String(task.ended_at)}`);
  if ((status === 'DONE') !== task.has_result) say(task.has_result ? 'has a result' : 'has no result');
  if (status === 'FAILED' && !task.has_error) say('has no error');
  if ((status === 'SKIPPED') !== (task.skipped_by !== null)) say(`skipped_by is ${task.skipped_by}`);
  if (task.attempts < 0 || task.attempts > task.max_attempts)
    say(`${task.attempts} attempts of ${task.max_attempts}`);
  if ((status === 'DONE' || isClaimed) && task.attempts < 1) say('no attempt was counted');
  if (status === 'READY' && task.pre_cnt === 0 && task.entries !== 1)
    say(`can run, and has ${task.entries} entries that a claim would find`);
  if (isClaimed && task.notes === 0) say('has no note that a sweep would find');
  if ((status === 'FAILED') !== (task.letters === 1)) say(`has ${task.letters} dead letters`);
  if (task.pre_cnt < 0 || task.open_cnt < 0) say(`pre_cnt ${task.pre_cnt}, open_cnt ${task.open_cnt}`);
}

/** What a task waits for is what its parents' states leave open; it ran only if it could, and was skipped only if it could not. */
function checkCounts(
  task: TaskRow,
  tasks: ReadonlyMap<string, TaskRow>,
  { parentsOf, addedParentsOf, definitions, ticks }: Snapshot,
  { retried, isFailing }: { readonly retried: boolean; readonly isFailing: boolean },
  say: (text: string) => void,
): void {
  const { batch_id: batchId, task_key: key, status } = task;
  const parentKeys = [
    ...(parentsOf.get(name(task.dag_version, key)) ?? []),
    ...(addedParentsOf.get(name(batchId, key)) ?? []),
  ];
  const parents = parentKeys.map(
    (parent) => tasks.get(parent)?.status ?? say(`has lost its parent ${parent}`),
  );
  const { join, need: stored } = definitions.get(name(task.dag_version, key)) ?? { join: 'all', need: 0 };
  const need = join === 'all' || join === 'all-done' ? parentKeys.length : stored;
  let reached = 0;
  let open = 0;
  let untold = 0; // Ends that are told to nobody: the batch fails.
  parents.forEach((parent, index) => {
    const policy = tasks.get(parentKeys[index] as string)?.on_failure;
    if (parent === 'READY' || parent === 'PROCESSING') open++;
    else if (parent === 'CANCELLED' || (parent === 'FAILED' && policy === 'fail')) untold++;
    else if (join === 'all-done' || parent === 'DONE' || (parent === 'FAILED' && policy === 'continue'))
      reached++;
  });
  const said = `(join ${join}, needs ${need}, ${reached} reached, ${open} open, ${untold} untold)`;

  const { ok, end } = ticks.get(name(batchId, key)) ?? NO_TICKS;
  if (status === 'READY' && task.started_at === null && !isFailing) {
    const pre = Math.max(0, need - reached);
    if (Math.max(0, task.pre_cnt - ok) !== pre || task.open_cnt - end !== open)
      say(`pre_cnt ${task.pre_cnt} - ${ok}, open_cnt ${task.open_cnt} - ${end} ${said}`);
    if (open < pre) say(`waits for ever ${said}`);
  }
  // One that is to be tried again waits for a parent that a retry has reopened, and for nothing else.
  const waitsFor = Math.max(0, task.pre_cnt - ok);
  if (status === 'READY' && task.started_at !== null && (retried ? waitsFor > open : task.pre_cnt !== 0))
    say(`was started and waits again ${said}`);
  if (retried) return;
  const isRun = status === 'DONE' || status === 'FAILED' || status === 'PROCESSING';
  if ((isRun || task.skipped_by === 'condition') && reached < need) say(`could not start ${said}`);
  if (task.skipped_by === 'cascade' && reached + open + untold >= need) say(`could start ${said}`);
}

function sharedClaims({ tasksOf }: Snapshot): string[] {
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (const tasks of tasksOf.values())
    for (const { claim_id: claim, batch_id: batch, task_key: key } of tasks.values()) {
      if (claim === null) continue;
      if (seen.has(claim)) wrong.push(`batch ${batch}: ${key} has claim ${claim}, as another task has`);
      seen.add(claim);
    }
  return wrong;
}

function readTables(database: Database, schema: string, only: string | undefined): Promise<Snapshot> {
  return database.transaction(
    async (tx) => {
      const rows = async <R extends object>(sql: string) =>
        (
          await tx.query<R>(
            sql.replaceAll('{schema}', () => schema),
            [only],
          )
        ).rows;
      const isAsked = (column: string) => `($1::bigint IS NULL OR ${column} = $1::bigint)`;
      const isUsed = `version IN (SELECT dag_version FROM {schema}.batch_instance WHERE ${isAsked('id')})`;
      const batches = await rows<BatchRow>(
        `SELECT id, dag_version, status, failing, task_cnt, open_cnt, counts, ended_at FROM {schema}.batch_instance
         WHERE ${isAsked('id')} ORDER BY id`,
      );
      const tasks = await rows<TaskRow>(
        `SELECT e.id, e.batch_id, e.dag_version, e.task_key, e.status, e.on_failure, e.pre_cnt, e.open_cnt, e.attempts, e.max_attempts,
           e.lost_cnt, e.worker_id, e.claim_id, e.lease_until, e.result IS NOT NULL AS has_result, e.error IS NOT NULL AS has_error,
           e.skipped_by, e.started_at, e.ended_at,
           coalesce(r.entries, 0) AS entries, coalesce(l.notes, 0) AS notes, coalesce(d.letters, 0) AS letters
         FROM {schema}.outbox_evt e
         LEFT JOIN (SELECT id, visible_at, count(*)::integer AS entries FROM {schema}.outbox_ready GROUP BY id, visible_at) r
           ON r.id = e.id AND r.visible_at = e.visible_at
         LEFT JOIN (SELECT i AS id, count(*)::integer AS notes FROM {schema}.outbox_lease, unnest(evt_ids) AS i GROUP BY i) l ON l.id = e.id
         LEFT JOIN (SELECT id, count(*)::integer AS letters FROM {schema}.outbox_dead_letter GROUP BY id) d ON d.id = e.id
         WHERE ${isAsked('e.batch_id')} ORDER BY e.id`,
      );
      const definitions = await rows<{ version: number; task_key: string; join: string; need: number }>(
        `SELECT version, task_key, "join", need_cnt AS need FROM {schema}.task_def WHERE ${isUsed}`,
      );
      const edges = await rows<Edge>(
        `SELECT version AS of, from_key, to_key FROM {schema}.task_dep WHERE ${isUsed}`,
      );
      const added = await rows<Edge>(
        `SELECT batch_id AS of, from_key, to_key FROM {schema}.outbox_dep WHERE ${isAsked('batch_id')}`,
      );
      const ticks = await rows<{ batch_id: string; task_key: string | null } & Ticks>(
        `SELECT batch_id, task_key, sum(ok_cnt)::integer AS ok, sum(end_cnt)::integer AS end
         FROM {schema}.outbox_tick WHERE ${isAsked('batch_id')} GROUP BY batch_id, task_key`,
      );
      const tasksOf = new Map<string, Map<string, TaskRow>>(batches.map(({ id }) => [id, new Map()]));
      for (const task of tasks) tasksOf.get(task.batch_id)?.set(task.task_key, task);
      return {
        batches,
        tasksOf,
        parentsOf: parentsBy(edges),
        addedParentsOf: parentsBy(added),
        definitions: new Map(definitions.map((row) => [name(row.version, row.task_key), row])),
        keysOf: keysBy(definitions),
        ticks: new Map(ticks.map((row) => [name(row.batch_id, row.task_key), row])),
      };
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

interface Edge {
  readonly of: string | number;
  readonly from_key: string;
  readonly to_key: string;
}

function parentsBy(edges: readonly Edge[]): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>();
  for (const { of, from_key: from, to_key: to } of edges) {
    const own = parents.get(name(of, to));
    if (own) own.push(from);
    else parents.set(name(of, to), [from]);
  }
  return parents;
}

function keysBy(
  definitions: readonly { readonly version: number; readonly task_key: string }[],
): ReadonlyMap<number, readonly string[]> {
  const keys = new Map<number, string[]>();
  for (const { version, task_key: key } of definitions) {
    const own = keys.get(version);
    if (own) own.push(key);
    else keys.set(version, [key]);
  }
  return keys;
}
