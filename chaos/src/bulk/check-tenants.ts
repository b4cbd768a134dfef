import type { GroupView } from '@millrace/bulk-action';
import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import type { Attempt } from './hostile-tenant.js';
import { jobName } from './plan.js';

/** One start, in the order of the store: its tokens count up by one. */
export interface Start {
  readonly token: number;
  readonly tenant: string;
  /** Whether it is the first of its job. */
  readonly isFirst: boolean;
}

/** Two tenants of the same weight, served one job after the other. */
export interface Service {
  /** Starts while both had jobs waiting. */
  readonly starts: number;
  /** The part of one of them. */
  readonly share: number;
  /** How far it fell behind the other at most, in starts, between any two moments. */
  readonly lag: number;
  /** Starts that nobody lived to write down: whose they were is not known. */
  readonly unknown: number;
}

/** All starts that were written down. */
export function startsOf(entries: readonly LedgerEntry[]): readonly Start[] {
  const byToken = new Map<number, Start>();
  for (const { kind, job, token, attempt } of entries) {
    if (kind !== 'leased') continue;
    const tenant = String(job).split('/')[0] as string;
    byToken.set(Number(token), { token: Number(token), tenant, isFirst: attempt === 1 });
  }
  return [...byToken.values()].sort((a, b) => a.token - b.token);
}

/**
 * How a tenant was served while both had jobs waiting: from a token on, until its last job was first started.
 */
export function serviceOf(starts: readonly Start[], tenant: string, from: number): Service {
  const to = Math.max(
    0,
    ...starts.filter((one) => one.tenant === tenant && one.isFirst).map(({ token }) => token),
  );
  const counted = starts.filter(({ token }) => token >= from && token <= to);
  let [behind, least, lag, own] = [0, 0, 0, 0];
  for (const start of counted) {
    behind += start.tenant === tenant ? -1 : 1;
    own += start.tenant === tenant ? 1 : 0;
    least = Math.min(least, behind);
    lag = Math.max(lag, behind - least);
  }
  return {
    starts: counted.length,
    share: own / Math.max(1, counted.length),
    lag,
    unknown: Math.max(0, to - from + 1 - counted.length),
  };
}

/** c/w + c/w of two tenants with weight 1 and jobs of cost 1. */
const SFQ_BOUND = 2;
const LEAST_SHARE = 0.45;

/**
 * I6 and I15: a tenant with jobs waiting gets its share of the starts, whatever another one hands in, and never falls behind it by more
 * than start-time fair queueing allows.
 */
export function checkShare({ starts, share, lag, unknown }: Service, startsMin: number): Verdict {
  return {
    invariant: 'I6 its share of the starts',
    held: starts >= startsMin && share >= LEAST_SHARE && lag <= SFQ_BOUND + unknown,
    evidence: `${(100 * share).toFixed(1)} % of ${starts} starts while both waited; behind by ${lag} at most, ${SFQ_BOUND} + ${unknown} unknown allowed`,
  };
}

/**
 * I15: what is hostile is refused by the code that the contract names, and nothing else is.
 * @param needed - codes that must have been met.
 */
export function checkRefused(attempts: readonly Attempt[], needed: readonly string[]): Verdict {
  const wrong = attempts
    .filter(({ expected, got }) => expected !== got)
    .map(({ what, expected, got }) => `${what}: ${got}, not ${expected}`);
  const met = new Map<string, number>();
  for (const { got } of attempts) met.set(got, (met.get(got) ?? 0) + 1);
  wrong.push(...needed.filter((code) => !met.has(code)).map((code) => `nobody met ${code}`));
  return {
    invariant: 'I15 hostile input refused by its code',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0 ? some(wrong) : [...met].map(([code, times]) => `${code} × ${times}`).join(', '),
  };
}

/** A print of what was handed in, by the name of the job. */
export type Prints = ReadonlyMap<string, string>;

/** I15: each payload reached its processor, and whoever looked, byte for byte as it was handed in. */
export function checkPayloads(sent: Prints, entries: readonly LedgerEntry[], looked: Prints): Verdict {
  const wrong: string[] = [];
  const given = new Map<string, Set<unknown>>();
  for (const { kind, job, print } of entries) {
    if (kind === 'given') given.set(String(job), (given.get(String(job)) ?? new Set()).add(print));
  }
  for (const [name, print] of sent) {
    const prints = given.get(name);
    if (!prints?.has(print) || prints.size !== 1) wrong.push(`${name.slice(0, 40)}: given another payload`);
  }
  for (const [name, print] of looked)
    if (sent.get(name) !== print) wrong.push(`${name.slice(0, 40)}: shown another payload`);
  return {
    invariant: 'I15 payloads byte for byte',
    held: wrong.length === 0 && sent.size > 0 && looked.size > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${sent.size} given to processors, ${looked.size} looked at`,
  };
}

/** I15: groups of a tenant are as it made them, and nobody else is shown them. */
export function checkUntouched(
  { plan, groups, jobs }: Evidence,
  tenant: string,
  shownToOther: readonly string[],
): Verdict {
  const wrong: string[] = [];
  const isOwn = (id: string) => id.startsWith(`${tenant}/`);
  const views = new Map(groups.map((group) => [group.id, group]));
  const own = plan.groups.filter(({ input }) => isOwn(input.id));
  for (const { input, jobs: planned } of own) {
    const failed = planned.filter(({ ends }) => ends === 'FAILED').length;
    const view = views.get(input.id);
    if (!view || !isAsMade(view, planned.length - failed, failed))
      wrong.push(`${input.id.slice(0, 40)}: ${JSON.stringify(view)?.slice(0, 300)}`);
    const listed = [...jobs.keys()].filter((name) => name.startsWith(`${input.id}#`)).length;
    const there = planned.filter(({ id }) => jobs.has(jobName(input.id, id))).length;
    if (listed !== planned.length || there !== listed)
      wrong.push(`${input.id.slice(0, 40)}: ${listed} jobs, ${there} of ${planned.length} its own`);
  }
  wrong.push(...shownToOther.filter(isOwn).map((id) => `${id} was shown to another`));
  return {
    invariant: 'I15 groups of the other untouched',
    held: wrong.length === 0 && own.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${own.length} groups as they were made`,
  };
}

const isAsMade = (view: GroupView, success: number, failed: number): boolean =>
  view.status === 'COMPLETED' &&
  view.round === 1 &&
  view.weight === 1 &&
  view.rps === undefined &&
  !view.paused &&
  view.counts.success === success &&
  view.counts.failed === failed &&
  view.counts.registered === success + failed;
