import type { DeadLetter, GroupView } from '@millrace/bulk-action';
import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import { BAD_DEEDS } from './bad-deeds.js';
import type { Evidence } from './evidence.js';
import { jobName } from './plan.js';
import { IMPATIENT_RETRIES, MAX_RETRIES } from './settings.js';

const MESSAGE_CHARACTERS_MAX = 2000;

/** The names of all jobs that misbehave, with how. */
const badJobs = ({ plan }: Evidence): Map<string, string> =>
  new Map(
    plan.groups.flatMap(({ input, jobs }) =>
      jobs.flatMap(({ id, script }) => (script.bad ? [[jobName(input.id, id), script.bad] as const] : [])),
    ),
  );

/**
 * Whoever misbehaved to the end is a dead letter that says so: code, a message somebody can read, all retries spent.
 */
export function checkLetters(evidence: Evidence, letters: readonly DeadLetter[]): Verdict {
  const wrong: string[] = [];
  const byName = new Map(letters.map((letter) => [jobName(letter.job.groupId, letter.job.id), letter]));
  const bad = badJobs(evidence);
  for (const [name, how] of bad) {
    const deed = BAD_DEEDS[how];
    const letter = byName.get(name);
    if (!deed || deed.recovers) continue;
    if (!letter) {
      wrong.push(`${name} (${how}) is no dead letter`);
      continue;
    }
    const { code, error, retryCount } = letter;
    if (code !== deed.code) wrong.push(`${how}: code ${code.slice(0, 50)}`);
    if (!error.includes(deed.says) || error.length > MESSAGE_CHARACTERS_MAX)
      wrong.push(`${how}: ${error.length} characters, '${error.slice(0, 100)}'`);
    const retries = deed.lingers ? IMPATIENT_RETRIES : MAX_RETRIES;
    if (retryCount !== retries) wrong.push(`${how}: ${retryCount} retries of ${retries}`);
  }
  const kinds = new Set(bad.values());
  for (const how of Object.keys(BAD_DEEDS)) if (!kinds.has(how)) wrong.push(`nobody ${how}`);
  return {
    invariant: 'dead letters are readable',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${kinds.size} ways to misbehave, ${letters.length} letters`,
  };
}

/** Every failed job is counted under its code, whatever the code is. */
export function checkCodes({ plan, results }: Evidence): Verdict {
  const wrong: string[] = [];
  for (const { input, jobs } of plan.groups) {
    const expected = new Map<string, number>();
    for (const { script, dead } of jobs) {
      const code = dead && BAD_DEEDS[script.bad ?? '']?.code;
      if (code) expected.set(code, (expected.get(code) ?? 0) + 1);
    }
    const counted = new Map(Object.entries(results.get(input.id)?.failedByCode ?? {}));
    for (const code of new Set([...expected.keys(), ...counted.keys()]))
      if (counted.get(code) !== expected.get(code))
        wrong.push(`${input.id}: ${code.slice(0, 50)} × ${counted.get(code)}, not ${expected.get(code)}`);
  }
  return {
    invariant: 'failures counted by code',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${plan.groups.length} groups`,
  };
}

/** Jobs beside those that misbehave lost no retry, and each completed. */
export function checkNeighbours(evidence: Evidence): Verdict {
  const bad = badJobs(evidence);
  const neighbours = [...evidence.jobs].filter(([name]) => !bad.has(name));
  const wrong = neighbours.filter(([, { status, retryCount }]) => status !== 'COMPLETED' || retryCount > 0);
  return {
    invariant: 'neighbours unaffected',
    held: wrong.length === 0 && neighbours.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong.map(([name, { status, retryCount }]) => `${name} ${status}, ${retryCount} retries`))
        : `${neighbours.length} neighbours of ${bad.size}`,
  };
}

/**
 * I4: a settlement that is sent twice gets the same answer twice; one that a newer try has overruled is stale, and turned
 * into a success it is none.
 */
export function checkTwiceTold(entries: readonly LedgerEntry[]): Verdict {
  const wrong: string[] = [];
  const again = entries.filter(({ kind }) => kind === 'told-again');
  const crossed = entries.filter(({ kind }) => kind === 'crossed');
  const overruled = crossed.filter(({ isOverruled }) => isOverruled);
  for (const { job, token, first, again: second } of again)
    if (first !== second) wrong.push(`${job} by token ${token}: first ${first}, then ${second}`);
  for (const { job, token, answer } of overruled)
    if (answer !== 'stale') wrong.push(`${job} by token ${token}: overruled, yet ${answer}`);
  // Of one that waits for its next try the first answer is repeated.
  for (const { job, token, answer } of crossed)
    if (answer !== 'stale' && answer !== 'accepted PENDING')
      wrong.push(`${job} by token ${token}: sent late, ${answer}`);
  return {
    invariant: 'I4 twice and crossed',
    held: wrong.length === 0 && again.length > 0 && overruled.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${again.length} sent twice, ${crossed.length} sent late, ${overruled.length} of them behind a newer one`,
  };
}

/** One settlement that was sent when all was over. */
export interface Replay {
  readonly job: string;
  readonly token: number;
  /** What was answered when it came first; undefined when nobody heard that. */
  readonly first: string | undefined;
  readonly answer: string;
}

/**
 * I2 and I4: when all is over, no settlement of any try changes anything, whatever it says. What ended a job is told what it
 * was told then; all others are stale.
 * @param before - groups when all was over.
 * @param after - groups after every settlement had been sent once more.
 */
export function checkReplays(
  before: readonly GroupView[],
  after: readonly GroupView[],
  replays: readonly Replay[],
): Verdict {
  const wrong: string[] = [];
  for (const { job, token, first, answer } of replays) {
    if (first === undefined) continue;
    const expected = /COMPLETED|FAILED/.test(first) ? first : 'stale';
    if (answer !== expected) wrong.push(`${job} by token ${token}: ${answer}, not ${expected}`);
  }
  const shown = (groups: readonly GroupView[]) =>
    new Map(groups.map(({ id, status, counts }) => [id, `${status} ${JSON.stringify(counts)}`]));
  const now = shown(after);
  for (const [id, was] of shown(before))
    if (now.get(id) !== was) wrong.push(`${id}: ${was} → ${now.get(id)}`);
  return {
    invariant: 'I2 nothing changes afterwards',
    held: wrong.length === 0 && replays.length > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${replays.length} settlements sent again with another outcome`,
  };
}
