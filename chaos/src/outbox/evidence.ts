import { isDeepStrictEqual } from 'node:util';
import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';
import { asking } from '../postgres.js';
import { type Plan, taskName } from './plan.js';

/** A batch in the store. */
interface StoredBatch {
  readonly id: string;
  readonly bizKey: string;
  readonly runNo: number;
  readonly status: string;
  readonly openCount: number;
  /** Of the tasks by state, as it was noted at its end. */
  readonly counts: Readonly<Record<string, number>> | null;
}

/** A task in the store. */
export interface StoredTask {
  readonly name: string;
  readonly status: string;
  readonly attempts: number;
  readonly lost: number;
  readonly result: { readonly run?: string; readonly seq?: string } | null;
  readonly error: unknown;
  readonly skippedBy: 'condition' | 'cascade' | null;
  /** How often it is among the tasks that failed for good. */
  readonly letters: number;
}

/** A row that a task wrote through its transaction. */
interface Effect {
  readonly seq: string;
  readonly name: string;
  readonly run: string;
  /** Keys of the tasks of the batch whose rows were there before. */
  readonly found: readonly string[];
}

/** The row that the end of a batch wrote. */
interface BatchEnd {
  readonly bizKey: string;
  readonly status: string;
  /** Rows of its tasks that were there. */
  readonly effects: number;
}

/** A change of a batch's state. */
interface BatchMove {
  readonly bizKey: string;
  readonly from: string;
  readonly to: string;
}

/** One execution of a task, as its handler wrote it down. */
export interface Run {
  readonly run: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly beganAt: number;
  readonly endedAt: number | undefined;
  readonly how: 'done' | 'failed' | undefined;
  /** When its process was frozen and woken while it ran. */
  readonly frozen: { readonly from: number; readonly to: number } | undefined;
}

/** What the ledger says. */
export interface Testimony {
  /** Which batches callers were told of: id by business key, as often as they were told. */
  readonly acknowledged: readonly {
    readonly bizKey: string;
    readonly id: string;
    readonly created: boolean;
  }[];
  readonly runs: readonly Run[];
  /** What callers were told that a batch is after they aborted it. */
  readonly aborts: readonly { readonly bizKey: string; readonly status: string }[];
  /** How often a batch was retried as a whole, and how often by a task of it. */
  readonly retries: { readonly batches: number; readonly tasks: number };
  /** Refusals of callers by code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Processes that ended themselves, by how. */
  readonly exits: Readonly<Record<string, number>>;
  /** Tries without an end of their own by task, as the processes tell that end with their tries. */
  readonly unended?: ReadonlyMap<string, UnendedTries>;
}

/** Tries of a task that came to nothing without a charge. */
interface UnendedTries {
  /** Something was lost under them. */
  readonly lost: number;
  /** Given back: others were in the way when they were being recorded. */
  readonly returned: number;
}

/** What the store shows and what the ledger says, when all is over. */
export interface Evidence {
  readonly plan: Plan;
  readonly testimony: Testimony;
  readonly batches: readonly StoredBatch[];
  readonly tasks: ReadonlyMap<string, StoredTask>;
  readonly effects: readonly Effect[];
  readonly ends: readonly BatchEnd[];
  readonly moves: readonly BatchMove[];
  readonly orders: readonly string[];
  readonly ticks: number;
}

const BATCHES = `
  SELECT id::text, biz_key AS "bizKey", run_no AS "runNo", status::text, open_cnt AS "openCount", counts
  FROM millrace.batch_instance ORDER BY id`;
const TASKS = `
  SELECT biz_key AS batch, task_key AS task, e.status::text, attempts, lost_cnt AS lost, result, error, skipped_by AS "skippedBy",
    (SELECT count(*)::int FROM millrace.outbox_dead_letter d WHERE d.id = e.id) AS letters
  FROM millrace.outbox_evt e JOIN millrace.batch_instance b ON b.id = e.batch_id ORDER BY e.id`;
const EFFECTS = 'SELECT seq::text, batch, task, run, found FROM effect ORDER BY seq';
const ENDS = 'SELECT batch AS "bizKey", status, effects FROM batch_end ORDER BY seq';
const MOVES =
  'SELECT batch AS "bizKey", from_status AS "from", to_status AS "to" FROM batch_move ORDER BY seq';

/** Looks at everything. */
export async function gatherEvidence(
  plan: Plan,
  { url, ledgerPath }: { readonly url: string; readonly ledgerPath: string },
): Promise<Evidence> {
  return asking(url, (client) =>
    readEvidence(
      plan,
      async <R extends object>(sql: string) => (await client.query<R>(sql)).rows,
      ledgerPath,
    ),
  );
}

/** Looks at everything, in a database of any kind. */
export async function readEvidence(
  plan: Plan,
  all: <R extends object>(sql: string) => Promise<readonly R[]>,
  ledgerPath: string,
): Promise<Evidence> {
  type Named = { readonly batch: string; readonly task: string };
  const named = <R extends Named>({ batch, task, ...rest }: R) => ({ name: taskName(batch, task), ...rest });
  const tasks = await all<Named & Omit<StoredTask, 'name'>>(TASKS);
  const effects = await all<Named & Omit<Effect, 'name'>>(EFFECTS);
  const orders = await all<{ batch: string }>('SELECT batch FROM placed_order');
  const ticks = await all<{ count: number }>('SELECT count(*)::int AS count FROM millrace.outbox_tick');
  return {
    plan,
    testimony: testimonyOf(readLedger(ledgerPath)),
    batches: await all<StoredBatch>(BATCHES),
    tasks: new Map(tasks.map(named).map((task) => [task.name, task])),
    effects: effects.map(named),
    ends: await all<BatchEnd>(ENDS),
    moves: await all<BatchMove>(MOVES),
    orders: orders.map(({ batch }) => batch),
    ticks: ticks[0]?.count ?? 0,
  };
}

/** Reads what happened. */
export function testimonyOf(entries: readonly LedgerEntry[]): Testimony {
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
  const ends = new Map(of('ended').map((entry) => [String(entry.run), entry]));
  const woken = of('woken');
  const freezes = of('paused').map(({ at, worker }) => {
    const wakes = woken.find((entry) => entry.worker === worker && entry.at >= at);
    return { worker: Number(worker), from: at, to: wakes?.at ?? Number.POSITIVE_INFINITY };
  });
  return {
    acknowledged: of('acknowledged').map(({ batch, id, created }) => ({
      bizKey: String(batch),
      id: String(id),
      created: created === true,
    })),
    runs: of('began').map((began) => {
      const end = ends.get(String(began.run));
      // Who ends after the middle ends after it was woken, though perhaps before that was written down.
      const overlaps = ({ worker, from, to }: (typeof freezes)[number]) =>
        worker === began.pid && began.at <= from && (end?.at ?? Number.POSITIVE_INFINITY) >= (from + to) / 2;
      return {
        run: String(began.run),
        name: String(began.task),
        inputs: began.inputs as Run['inputs'],
        beganAt: began.at,
        endedAt: end?.at,
        how: end?.how as Run['how'],
        frozen: freezes.find(overlaps),
      };
    }),
    aborts: of('abort-answered').map(({ batch, status }) => ({
      bizKey: String(batch),
      status: String(status),
    })),
    retries: {
      batches: of('retried').length,
      tasks: of('task-retried').filter(({ how }) => how === 'retried').length,
    },
    refusals: counted(of('refused').map(({ code }) => String(code))),
    exits: counted(of('exits').map(({ does }) => String(does))),
    unended: unendedTries(entries),
  };
}

/** The processes know batches by their ids: callers were told which is whose. */
function unendedTries(entries: readonly LedgerEntry[]): ReadonlyMap<string, UnendedTries> {
  const bizKeys = new Map(
    entries.filter(({ kind }) => kind === 'acknowledged').map(({ id, batch }) => [String(id), String(batch)]),
  );
  const tries = new Map<string, UnendedTries>();
  for (const { kind, batchId, task, result } of entries) {
    if (kind !== 'try-ended' || (result !== 'lost' && result !== 'returned')) continue;
    const name = taskName(bizKeys.get(String(batchId)) ?? String(batchId), String(task));
    const { lost = 0, returned = 0 } = tries.get(name) ?? {};
    tries.set(name, result === 'lost' ? { lost: lost + 1, returned } : { lost, returned: returned + 1 });
  }
  return tries;
}

/** Groups what has a name by it. */
export function byName<T extends { readonly name: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const own = groups.get(item.name);
    if (own) own.push(item);
    else groups.set(item.name, [item]);
  }
  return groups;
}

/** The batches that were ended and run again. */
export const reopened = ({ moves }: Pick<Evidence, 'moves'>): ReadonlySet<string> =>
  new Set(moves.filter(({ to }) => to === 'RUNNING').map(({ bizKey }) => bizKey));

/** Whether two values of JSON are the same. */
export const isSame = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other);

/** How often each name is there. */
export function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
