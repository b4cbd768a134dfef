import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import type { FollowedGroup } from './callers.js';
import { type Sums, sumsOf } from './payments.js';

/** What was handed in and told, and what the ledger says of it. */
export interface SoakEvidence {
  readonly groups: readonly FollowedGroup[];
  readonly ledger: readonly LedgerEntry[];
}

const placesOf = ({ jobs }: FollowedGroup) => Array.from({ length: jobs }, (_, n) => n);

/** Places in a group that came to their end at the bank, by group; one that was paid twice is there once. */
function endedPlaces(ledger: readonly LedgerEntry[]): Map<string, Set<number>> {
  const ended = new Map<string, Set<number>>();
  for (const { kind, group, n } of ledger) {
    if (kind !== 'paid' && kind !== 'refused') continue;
    const places = ended.get(String(group)) ?? new Set();
    ended.set(String(group), places.add(Number(n)));
  }
  return ended;
}

/** I1: every group that was acknowledged has ended, and each of its jobs was really done. */
export function checkSoakLoss({ groups, ledger }: SoakEvidence): Verdict {
  const ended = endedPlaces(ledger);
  const wrong: string[] = [];
  let jobs = 0;
  for (const group of groups) {
    jobs += group.jobs;
    const done = ended.get(group.id)?.size ?? 0;
    if (!group.result) wrong.push(`${group.id}: nobody knows what came of it`);
    else if (group.result.status !== 'COMPLETED') wrong.push(`${group.id} is ${group.result.status}`);
    if (done !== group.jobs) wrong.push(`${group.id}: ${done} of ${group.jobs} in the ledger`);
  }
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0 && groups.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${groups.length} groups, ${jobs} jobs, each ended`,
  };
}

/**
 * I2 and I14: counts and sums of each group are those of its jobs, each counted once, however often it was tried.
 */
export function checkSoakTotals({ groups, ledger }: SoakEvidence): Verdict {
  const ended = endedPlaces(ledger);
  const wrong: string[] = [];
  let cents = 0;
  for (const group of groups) {
    if (!group.result) continue;
    const expected = sumsOf(placesOf(group));
    cents += expected.cents;
    const written = sumsOf(ended.get(group.id) ?? []);
    const { success, failed, reduced } = group.result;
    const told = { success, failed, cents: group.result.cents };
    if (!same(told, expected) || reduced !== expected.cents)
      wrong.push(`${group.id} tells ${JSON.stringify(group.result)}, not ${JSON.stringify(expected)}`);
    if (!same(written, expected)) wrong.push(`${group.id}: the ledger has ${JSON.stringify(written)}`);
  }
  const tries = ledger.filter(({ kind }) => kind === 'paying').length;
  return {
    invariant: 'I2, I14 totals = accepted settlements',
    held: wrong.length === 0 && cents > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${cents} cents, each counted once; ${tries} tries`,
  };
}

const same = (a: Sums, b: Sums): boolean =>
  a.success === b.success && a.failed === b.failed && a.cents === b.cents;
