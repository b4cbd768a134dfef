import type { Outcome } from '@millrace/orchestrator';
import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';
import { counted } from '../outbox/evidence.js';
import { asking } from '../postgres.js';
import type { Plan } from './plan.js';

/** An operation in the store. */
export interface StoredOperation {
  readonly opId: string;
  readonly key: string;
  readonly event: string;
  readonly state: string;
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly attemptsMax: number;
  readonly refusals: number;
  readonly owner: string | null;
  readonly isLeased: boolean;
  readonly isDue: boolean;
  /** Cancelled. */
  readonly ahead: boolean;
  readonly hasEnded: boolean;
  readonly deadLetter: boolean;
}

/** A change of an operation, its insertion included. */
export interface Change {
  readonly opId: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Null for its insertion. */
  readonly from: string | null;
  readonly to: string;
  readonly outcome: Outcome | null;
  readonly fromOwner: string | null;
  readonly toOwner: string | null;
  readonly token: number;
  readonly attempts: number;
  readonly refusals: number;
  readonly ahead: boolean;
  /** It was written by who owned it, or by the end of its backing. */
  readonly settled: boolean;
}

/** One run of a handler, as it wrote it down. */
export interface Run {
  readonly run: string;
  readonly opId: string;
  readonly event: string;
  readonly pid: number;
  readonly effect: boolean;
  readonly how: 'done' | 'failed' | undefined;
}

/** What a caller was told of an operation. */
export interface Told {
  readonly key: string;
  readonly opId: string;
  /** By a submit, a look at the status URL, or a cancellation. */
  readonly by: 'answered' | 'looked' | 'cancel-answered';
  readonly status: number;
  /** Undefined while the operation goes on. */
  readonly outcome: Outcome | undefined;
}

/** How long a submit took until it was answered, be it with a refusal. */
interface Wait {
  readonly key: string;
  readonly tookMs: number;
  /** The instance was frozen meanwhile, or the machine had no time for anybody. */
  readonly stalled: boolean;
}

/** What the ledger says. */
export interface Testimony {
  readonly told: readonly Told[];
  readonly waits: readonly Wait[];
  readonly runs: readonly Run[];
  /** Which operations were brought on by whom. */
  readonly repairs: readonly { readonly by: string; readonly opId: string }[];
  /** Steps at which processes killed themselves. */
  readonly kills: readonly string[];
  /** Refusals of calls by method, status and code; calls that were cut by the death of an instance. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly cuts: number;
  /** When processes were seen to have ended. */
  readonly diedAt: ReadonlyMap<number, number>;
  /** How long instances took to end that were asked to. */
  readonly drainedMs: readonly number[];
}

/** What the stores show and what the ledger says, when all is over. */
export interface Evidence {
  readonly plan: Plan;
  readonly testimony: Testimony;
  readonly operations: readonly StoredOperation[];
  /** By operation, in the order in which they happened. */
  readonly changes: ReadonlyMap<string, readonly Change[]>;
  readonly batches: ReadonlyMap<string, string>;
  /** Rows of tasks, by operation. */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  /** Errands by operation. */
  readonly errands: ReadonlyMap<string, { readonly cancelled: boolean; readonly sent: number }>;
}

const OPERATIONS = `
  SELECT op_id::text AS "opId", idem_key AS key, event_type AS event, state, outcome, attempts, attempts_max AS "attemptsMax", refusals, owner,
    lease_until IS NOT NULL AS "isLeased", due_at IS NOT NULL AS "isDue", ahead, ended_at IS NOT NULL AS "hasEnded", dead_letter AS "deadLetter"
  FROM millrace.operation ORDER BY op_id`;
const CHANGES = `
  SELECT op_id::text AS "opId", (extract(epoch FROM at) * 1000)::float8 AS at, from_state AS "from", to_state AS "to", outcome, from_owner AS "fromOwner", to_owner AS "toOwner", token,
    attempts, refusals, ahead, settled
  FROM operation_change ORDER BY seq`;
const BATCHES = 'SELECT biz_key AS "opId", status::text FROM millrace.batch_instance';
const EFFECTS = 'SELECT op_id AS "opId", task FROM effect ORDER BY seq';
const ERRANDS = `
  SELECT op_id::text AS "opId", cancelled, (SELECT count(*)::int FROM errand_sent s WHERE s.op_id = e.op_id) AS sent FROM errand e`;

/** Looks at everything. */
export async function gatherEvidence(
  plan: Plan,
  { url, ledgerPath }: { readonly url: string; readonly ledgerPath: string },
): Promise<Evidence> {
  return asking(url, async (client) => {
    const all = async <R extends object>(sql: string) => (await client.query<R>(sql)).rows;
    type Texts<T> = Omit<T, 'outcome'> & { readonly outcome: string | null };
    const read = <T extends { readonly outcome: string | null }>(row: T) => ({
      ...row,
      outcome: row.outcome === null ? null : (JSON.parse(row.outcome) as Outcome),
    });
    const effects = await all<{ opId: string; task: string }>(EFFECTS);
    const errands = await all<{ opId: string; cancelled: boolean; sent: number }>(ERRANDS);
    const batches = await all<{ opId: string; status: string }>(BATCHES);
    return {
      plan,
      testimony: testimonyOf(readLedger(ledgerPath)),
      operations: (await all<Texts<StoredOperation>>(OPERATIONS)).map(read),
      changes: byOperation((await all<Texts<Change>>(CHANGES)).map(read)),
      batches: new Map(batches.map(({ opId, status }) => [opId, status])),
      effects: new Map([...byOperation(effects)].map(([opId, rows]) => [opId, rows.map(({ task }) => task)])),
      errands: new Map(errands.map(({ opId, ...errand }) => [opId, errand])),
    };
  });
}

const TELLING: readonly string[] = ['answered', 'looked', 'cancel-answered'] satisfies Told['by'][];

/** Reads what happened. */
export function testimonyOf(entries: readonly LedgerEntry[]): Testimony {
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
  const runsOf = (kind: string) => new Map(of(kind).map((entry) => [String(entry.run), entry]));
  const [effects, ends] = [runsOf('effect'), runsOf('ended')];
  const freezes = of('paused').map(({ at, worker }) => {
    const woken = of('woken').find((entry) => entry.worker === worker && entry.at >= at);
    return { worker, from: at, to: woken?.at ?? Number.POSITIVE_INFINITY };
  });
  return {
    told: entries
      .filter(({ kind }) => TELLING.includes(kind))
      .map(({ kind, key, op, status = 200, outcome }) => ({
        key: String(key),
        opId: String(op),
        by: kind as Told['by'],
        status: Number(status),
        outcome: outcome as Outcome | undefined,
      })),
    waits: of('waited').map(({ at, key, tookMs, instance, keptUp }) => ({
      key: String(key),
      tookMs: Number(tookMs),
      stalled:
        keptUp !== true ||
        freezes.some(
          ({ worker, from, to }) => worker === instance && from <= at && to >= at - Number(tookMs),
        ),
    })),
    runs: of('began').map(({ run, op, event, pid }) => ({
      run: String(run),
      opId: String(op),
      event: String(event),
      pid,
      effect: effects.has(String(run)),
      how: ends.get(String(run))?.how as Run['how'],
    })),
    repairs: of('repaired').map(({ by, op }) => ({ by: String(by), opId: String(op) })),
    kills: of('kills').map(({ step }) => String(step)),
    refusals: counted(of('refused').map(({ method, status, code }) => `${method} ${status} ${code}`)),
    cuts: of('cut').length,
    diedAt: new Map(of('died').map(({ worker, at }) => [Number(worker), at])),
    drainedMs: of('drained').map(({ tookMs }) => Number(tookMs)),
  };
}

/** Groups what belongs to operations by them. */
export function byOperation<T extends { readonly opId: string }>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const own = groups.get(item.opId);
    if (own) own.push(item);
    else groups.set(item.opId, [item]);
  }
  return groups;
}

/** Counts in words. */
export const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} × ${count}`)
    .join(', ');
