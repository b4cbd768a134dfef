import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';

/** One execution of a job, as its processor wrote it down. */
export interface Try {
  readonly job: string;
  readonly group: string;
  readonly attempt: number;
  readonly token: number | undefined;
  /** The process. */
  readonly worker: number;
  readonly beganAt: number;
  /** When it ended; where its process died first, the last moment at which its lease was surely valid. */
  readonly endedAt: number | undefined;
  /** `killed` when its process died first. */
  readonly how: 'done' | 'failed' | 'throttled' | 'aborted' | 'killed' | 'unknown';
  /** What the store said to its report; undefined when nobody lived to hear it. */
  readonly answer: string | undefined;
}

/** One answer of the store to a report. */
export interface SettledTry {
  readonly job: string;
  readonly token: number;
  readonly status: string;
  readonly jobStatus: string | undefined;
}

/** One lease that a process was given. */
interface Lease {
  readonly token: number;
  readonly at: number;
}

/** What the ledger of a scenario says. */
export interface Testimony {
  /** Jobs whose registration was answered. */
  readonly acknowledged: ReadonlySet<string>;
  readonly tries: readonly Try[];
  readonly settled: readonly SettledTry[];
  /** Under which tokens each job was leased, and when that was written down at the latest. */
  readonly leases: ReadonlyMap<string, readonly Lease[]>;
  /** How often each job was given back. */
  readonly givenBack: ReadonlyMap<string, number>;
  readonly deaths: number;
}

const nameOf = (entry: LedgerEntry) => String(entry.job);
const tryId = ({ job, attempt }: LedgerEntry) => `${job} ${attempt}`;

/**
 * Reads what happened.
 * @param leaseMs - how long a lease lasts.
 */
export function testimonyOf(entries: readonly LedgerEntry[], leaseMs: number): Testimony {
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
  const settled = of('settled').map((entry) => ({
    job: nameOf(entry),
    token: Number(entry.token),
    status: String(entry.status),
    jobStatus: entry.jobStatus as string | undefined,
  }));
  const leases = new Map<string, Lease[]>();
  for (const entry of of('leased')) {
    const lease = { token: Number(entry.token), at: entry.at };
    leases.set(nameOf(entry), [...(leases.get(nameOf(entry)) ?? []), lease]);
  }
  const givenBack = new Map<string, number>();
  for (const entry of of('given-back')) {
    if (entry.to === 'ready' || entry.to === 'lane') {
      givenBack.set(nameOf(entry), (givenBack.get(nameOf(entry)) ?? 0) + 1);
    }
  }
  return {
    acknowledged: new Set(of('acknowledged').map(({ group, id }) => `${group}#${id}`)),
    tries: triesOf(of, settled, leaseMs),
    settled,
    leases,
    givenBack,
    deaths: of('died').length,
  };
}

function triesOf(
  of: (kind: string) => LedgerEntry[],
  settled: readonly SettledTry[],
  leaseMs: number,
): Try[] {
  const ends = new Map(of('ended').map((entry) => [tryId(entry), entry]));
  const tokens = new Map(of('leased').map((entry) => [tryId(entry), Number(entry.token)]));
  const answers = new Map(settled.map(({ job, token, status }) => [`${job} ${token}`, status]));
  const deaths = new Map(of('died').map(({ worker, at }) => [Number(worker), at]));
  return of('began').map((began) => {
    const end = ends.get(tryId(began));
    const token = tokens.get(tryId(began));
    const died = deaths.get(began.pid);
    const ending = died === undefined ? 'unknown' : 'killed';
    // A process that was frozen or blocked before it died may have lost the lease long before.
    const lastSure = died === undefined ? undefined : Math.min(died, began.at + leaseMs / 2);
    return {
      job: nameOf(began),
      group: nameOf(began).split('#')[0] as string,
      attempt: Number(began.attempt),
      token,
      worker: began.pid,
      beganAt: began.at,
      endedAt: end?.at ?? lastSure,
      how: end ? (end.how as Try['how']) : ending,
      answer: answers.get(`${began.job} ${token}`),
    };
  });
}

/**
 * Whether its lease was valid as long as the try ran: one that lost it is no longer in the way of a cap or a rate,
 * though its process may not know that yet.
 */
export const keptItsLease = ({ how, answer }: Try): boolean =>
  how !== 'aborted' && (answer === 'accepted' || answer === undefined);

/** Whether it ended its job for good. */
export const isFinal = ({ status, jobStatus }: SettledTry): boolean =>
  status === 'accepted' && (jobStatus === 'COMPLETED' || jobStatus === 'FAILED');

/** Jobs that have begun and not ended, so far. */
export function runningJobs(ledgerPath: string): string[] {
  const running = new Set<string>();
  for (const entry of readLedger(ledgerPath)) {
    if (entry.kind === 'began') running.add(nameOf(entry));
    if (entry.kind === 'ended') running.delete(nameOf(entry));
  }
  return [...running];
}
