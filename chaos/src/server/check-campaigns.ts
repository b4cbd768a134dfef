import { isDeepStrictEqual } from 'node:util';
import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import type { ServerEvidence, StoredOperation } from './evidence.js';
import { fateOf, type Totals, totalsOf } from './mails.js';

const told = (ledger: readonly LedgerEntry[], key: string): LedgerEntry[] =>
  ledger.filter((entry) => entry.key === key && (entry.kind === 'answered' || entry.kind === 'looked'));

/**
 * I1: every campaign that was asked for was accepted as exactly one operation, the one that all callers were told of.
 */
export function checkNoLoss({ campaigns, operations, ledger }: ServerEvidence): Verdict {
  const wrong: string[] = [];
  let repeated = -campaigns.length;
  for (const { key } of campaigns) {
    const stored = operations.filter((operation) => operation.key === key);
    const answers = told(ledger, key);
    const accepted = answers.filter(({ kind }) => kind === 'answered').length;
    repeated += accepted;
    if (accepted === 0) wrong.push(`${key} was never accepted`);
    if (stored.length !== 1) wrong.push(`${key} has ${stored.length} operations`);
    if (answers.some(({ op }) => op !== stored[0]?.op))
      wrong.push(`${key}: a caller was told of another operation`);
  }
  if (operations.length !== campaigns.length) wrong.push(`${operations.length} operations`);
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${operations.length} campaigns, one operation each; ${repeated} answers to repeated keys`,
  };
}

/** I2: each operation ended once, and everybody who was told of its outcome was told the same. */
export function checkOneOutcome({ operations, ledger }: ServerEvidence): Verdict {
  const wrong: string[] = [];
  let tellings = 0;
  for (const { key, state, outcome, ends } of operations) {
    if (ends !== 1) wrong.push(`${key} ended ${ends} times`);
    if (state !== 'COMPLETED') wrong.push(`${key} is ${state}: ${JSON.stringify(outcome)}`);
    for (const answer of told(ledger, key)) {
      if (answer.outcome === undefined) continue;
      tellings++;
      if (!isDeepStrictEqual(answer.outcome, outcome))
        wrong.push(`${key}: a caller was told another outcome than the one that is stored`);
    }
  }
  return {
    invariant: 'I2 exactly one outcome',
    held: wrong.length === 0 && tellings > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${operations.length} outcomes, told ${tellings} times, always the same`,
  };
}

/**
 * The totals of each outcome are those of the ledger, where each customer counts once, however often its mail was sent; and those that the
 * campaign must come to.
 */
export function checkTotals({ campaigns, operations, ledger }: ServerEvidence): Verdict {
  const wrong: string[] = [];
  const byBatch = mailsByBatch(ledger);
  for (const { key, customers } of campaigns) {
    const operation = operations.find((one) => one.key === key);
    if (!operation) continue;
    const expected = totalsOf(customers);
    const shown = reportOf(operation);
    const written = totalsIn(byBatch.get(operation.batch) ?? []);
    if (!isDeepStrictEqual(shown, expected))
      wrong.push(`${key} reports ${JSON.stringify(shown)}, not ${JSON.stringify(expected)}`);
    if (!isDeepStrictEqual(written, expected))
      wrong.push(`${key}: the ledger has ${JSON.stringify(written)}, not ${JSON.stringify(expected)}`);
  }
  const mails = campaigns.reduce((sum, { customers }) => sum + customers, 0);
  return {
    invariant: 'I14 totals are those of the ledger',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${mails} mails, each counted once`,
  };
}

function reportOf({ outcome }: StoredOperation): Totals | undefined {
  const { report } = (outcome as { data?: { results?: { report?: Totals } } } | null)?.data?.results ?? {};
  if (!report) return undefined;
  const { mails, sent, bounced, cents } = report;
  return { mails, sent, bounced, cents };
}

/** Mails that reached their end at the mail service, by batch: `/batch:segment:customer-n` names one. */
function mailsByBatch(ledger: readonly LedgerEntry[]): Map<string, LedgerEntry[]> {
  const mails = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) {
    if (entry.kind !== 'mailed' && entry.kind !== 'bounced') continue;
    const batch = String(entry.mail).split(':')[0]?.slice(1) ?? '';
    mails.set(batch, [...(mails.get(batch) ?? []), entry]);
  }
  return mails;
}

function totalsIn(mails: readonly LedgerEntry[]): Totals {
  const customers = new Set(mails.map(({ customer }) => Number(customer)));
  const sent = [...customers].filter((customer) => !fateOf(customer).bounces);
  return {
    mails: customers.size,
    sent: sent.length,
    bounced: customers.size - sent.length,
    cents: sent.reduce((sum, customer) => sum + fateOf(customer).cents, 0),
  };
}
