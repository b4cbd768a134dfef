import { hasEnded } from '@millrace/bulk-action';
import { some, type Verdict } from '../registry.js';
import type { ServerEvidence } from './evidence.js';

/**
 * I3: a mail was tried at most 1 + retries + lost leases times; a lease whose loss the process itself noticed is in no count of the store.
 */
export function checkExecutions({ jobs, ledger }: ServerEvidence): Verdict {
  const wrong: string[] = [];
  const tries = countBy(ledger, 'mailing');
  const aborted = countBy(ledger, 'aborted');
  const lost = [...jobs.values()].reduce((sum, { orphanCount }) => sum + orphanCount, 0);
  let repeats = 0;
  for (const [mail, count] of tries) {
    repeats += count - 1;
    const job = jobs.get(mail);
    if (!job) {
      wrong.push(`${mail} was tried, and is no job`);
      continue;
    }
    const explained = 1 + job.retryCount + job.orphanCount + (aborted.get(mail) ?? 0);
    if (count > explained) wrong.push(`${mail} was tried ${count} times, ${explained} are explained`);
  }
  return {
    invariant: 'I3 executions explained',
    held: wrong.length === 0 && tries.size > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${tries.size} mails, ${repeats} tries again, ${lost} of them lost leases`,
  };
}

function countBy(ledger: ServerEvidence['ledger'], kind: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const entry of ledger)
    if (entry.kind === kind) counts.set(String(entry.mail), (counts.get(String(entry.mail)) ?? 0) + 1);
  return counts;
}

/** The steps of the example that mail. */
const SEGMENTS = ['gold', 'new', 'silver'];

/**
 * Every step that mails has one group, however often it was run: whoever ran it again found that of the first.
 */
export function checkOneGroupPerStep({ operations, groups }: ServerEvidence): Verdict {
  const expected = operations.flatMap(({ batch }) => SEGMENTS.map((segment) => `${batch}:${segment}`));
  const found = groups.map(({ id }) => id);
  const wrong = [
    ...expected.filter((id) => !found.includes(id)).map((id) => `${id} is not there`),
    ...found.filter((id) => !expected.includes(id)).map((id) => `${id} belongs to no step`),
  ];
  return {
    invariant: 'one group per step',
    held: wrong.length === 0 && groups.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${groups.length} steps`,
  };
}

/** Nothing is left: no operation, batch or group that has not ended. */
export function checkNothingLeft({ openBatches, openOperations, groups }: ServerEvidence): Verdict {
  const open = groups.filter(({ status }) => !hasEnded(status));
  return {
    invariant: 'nothing left open',
    held: openBatches === 0 && openOperations === 0 && open.length === 0 && groups.length > 0,
    evidence: `${openOperations} operations, ${openBatches} batches, ${open.length} of ${groups.length} groups${open
      .slice(0, 3)
      .map(({ id, status }) => ` ${id} ${status}`)
      .join()}`,
  };
}

/** Whoever was given a status URL could ask at the other door than the one that gave it. */
export function checkOtherDoor({ ledger }: ServerEvidence): Verdict {
  const wrong: string[] = [];
  const given = ledger.filter(({ kind, status }) => kind === 'answered' && status === 202);
  for (const { key, op, door } of given)
    if (!ledger.some((entry) => entry.kind === 'looked' && entry.op === op && entry.door !== door))
      wrong.push(`${key}: given by door ${door}, answered by no other`);
  return {
    invariant: 'I13 a status URL works at every API',
    held: wrong.length === 0 && given.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${given.length} were followed at the other door`,
  };
}
