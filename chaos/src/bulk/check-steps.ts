import type { GroupView } from '@millrace/bulk-action';
import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import type { Counted } from './counting-aggregator.js';
import type { Evidence } from './evidence.js';
import { type PlannedDeath, STEPS } from './steps.js';

/** A process died at every step that was planned. */
export function checkKilledAtEveryStep(
  entries: readonly LedgerEntry[],
  deaths: readonly PlannedDeath[],
): Verdict {
  const kills = entries.filter(({ kind }) => kind === 'kills');
  const died = new Set(entries.filter(({ kind }) => kind === 'died').map(({ worker }) => worker));
  const missed = deaths.filter(({ step }) => !kills.some((kill) => kill.step === step));
  const survived = kills.filter(({ pid }) => !died.has(pid));
  const done = `${kills.length} deaths at ${kills.length} of ${STEPS.length} steps there are`;
  const planned = deaths.length === STEPS.length ? '' : `: ${kills.map(({ step }) => step).join(', ')}`;
  const wrong = [
    ...missed.map(({ step }) => `never reached: ${step}`),
    ...survived.map(({ step }) => `outlived: ${step}`),
  ];
  return {
    invariant: 'killed at every step',
    held: wrong.length === 0 && deaths.length > 0,
    evidence: wrong.length > 0 ? `${done}; ${wrong.join(', ')}` : done + planned,
  };
}

/** I2: the results of each group were added up by one run, each job's once. */
export function checkAddedUpOnce({ groups, results }: Evidence, entries: readonly LedgerEntry[]): Verdict {
  const wrong: string[] = [];
  const finished = entries.filter(({ kind, answer }) => kind === 'aggregated' && answer === 'done');
  for (const { id, counts } of groups) {
    const data = results.get(id)?.data as Counted | undefined;
    if (data?.results !== counts.success || data.jobs !== counts.success)
      wrong.push(`${id}: ${counts.success} results, added up ${JSON.stringify(data)}`);
    const winners = new Set(finished.filter(({ group }) => group === id).map(({ token }) => token));
    if (winners.size > 1) wrong.push(`${id} was finished by ${winners.size} runs`);
  }
  return {
    invariant: 'I2 results added up once',
    held: wrong.length === 0 && groups.length > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${groups.length} groups, ${finished.length} runs heard that they won`,
  };
}

/** I8: the watcher compared counters with entries all the time and found nothing to repair. */
export function checkNothingRepaired(entries: readonly LedgerEntry[]): Verdict {
  const repairs = entries.filter(({ kind }) => kind === 'repaired');
  return {
    invariant: 'I8 nothing to repair',
    held: repairs.length === 0,
    evidence:
      repairs.length > 0 ? some(repairs.map(({ groups }) => `${groups} groups`)) : 'no counter was wrong',
  };
}

/**
 * Groups that were cancelled on the way are ended, each job of them counted once, whoever died while they were swept.
 */
export function checkCancelled(groups: readonly GroupView[]): Verdict {
  const wrong = groups.filter(({ status, counts }) => {
    const { registered, success, failed, cancelled, pending, inFlight } = counts;
    return status !== 'CANCELLED' || success + failed + cancelled !== registered || pending + inFlight > 0;
  });
  return {
    invariant: 'I1 cancelled groups stay so',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0
        ? some(wrong.map(({ id, status, counts }) => `${id} ${status} ${JSON.stringify(counts)}`))
        : `${groups.length} cancelled`,
  };
}
