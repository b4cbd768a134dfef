import type { GroupView, JobView } from '@millrace/bulk-action';
import type { LedgerEntry } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { checkNoLoss, checkOneOutcome, checkTotals } from '../src/server/check-campaigns.js';
import {
  checkExecutions,
  checkNothingLeft,
  checkOneGroupPerStep,
  checkOtherDoor,
} from '../src/server/check-runs.js';
import type { ServerEvidence, StoredOperation } from '../src/server/evidence.js';
import { fateOf, totalsOf } from '../src/server/mails.js';

const CUSTOMERS = 20;
const BATCH = '5';
const mailOf = (customer: number) => `/${BATCH}:gold:customer-${customer}`;

let seq = 0;
const entry = (kind: string, fields: object): LedgerEntry => ({
  at: seq,
  pid: 1,
  seq: seq++,
  kind,
  ...fields,
});

const outcome = { type: 'Ok', data: { batchId: BATCH, results: { report: totalsOf(CUSTOMERS) } } };
const operation: StoredOperation = {
  op: 'op-1',
  key: 'campaign-1',
  state: 'COMPLETED',
  outcome,
  batch: BATCH,
  ends: 1,
};

/** A campaign that was given at door 0, looked at at door 1, and sent as it should be. */
const sound = (): ServerEvidence => {
  const customers = Array.from({ length: CUSTOMERS }, (_, customer) => customer);
  return {
    campaigns: [{ key: 'campaign-1', customers: CUSTOMERS, dueMs: 0, budgetMs: 50, twice: false }],
    operations: [operation],
    openBatches: 0,
    openOperations: 0,
    groups: ['gold', 'silver', 'new'].map(
      (segment) => ({ id: `${BATCH}:${segment}`, status: 'COMPLETED' }) as GroupView,
    ),
    jobs: new Map(
      customers.map((customer) => [mailOf(customer), { retryCount: 0, orphanCount: 0 } as JobView]),
    ),
    ledger: [
      entry('answered', { key: 'campaign-1', op: 'op-1', status: 202, door: 0 }),
      entry('looked', { key: 'campaign-1', op: 'op-1', status: 200, door: 1, outcome }),
      ...customers.flatMap((customer) => [
        entry('mailing', { mail: mailOf(customer), customer }),
        entry(fateOf(customer).bounces ? 'bounced' : 'mailed', { mail: mailOf(customer), customer }),
      ]),
    ],
  };
};

const but = (change: Partial<ServerEvidence>): ServerEvidence => ({ ...sound(), ...change });
const heard = (...entries: LedgerEntry[]): ServerEvidence => but({ ledger: [...sound().ledger, ...entries] });

describe('the checkers of server-campaign', () => {
  it.each([
    checkNoLoss,
    checkOneOutcome,
    checkTotals,
    checkExecutions,
    checkOneGroupPerStep,
    checkNothingLeft,
    checkOtherDoor,
  ])('%s holds for a sound run', (check) => {
    expect(check(sound())).toMatchObject({ held: true });
  });

  it('see a campaign that is lost, or accepted twice', () => {
    expect(checkNoLoss(but({ operations: [] })).held).toBe(false);
    expect(checkNoLoss(but({ operations: [operation, { ...operation, op: 'op-2' }] })).held).toBe(false);
    expect(checkNoLoss(heard(entry('answered', { key: 'campaign-1', op: 'op-2', status: 202 }))).held).toBe(
      false,
    );
  });

  it('see a second end, and a caller that was told something else', () => {
    expect(checkOneOutcome(but({ operations: [{ ...operation, ends: 2 }] })).held).toBe(false);
    expect(checkOneOutcome(but({ operations: [{ ...operation, state: 'FAILED' }] })).held).toBe(false);
    const other = entry('looked', { key: 'campaign-1', op: 'op-1', outcome: { type: 'Fail' } });
    expect(checkOneOutcome(heard(other)).held).toBe(false);
  });

  it('see a mail that was counted twice, or never sent; one that was sent twice counts once', () => {
    const report = { ...totalsOf(CUSTOMERS), sent: totalsOf(CUSTOMERS).sent + 1 };
    const twice = { ...operation, outcome: { type: 'Ok', data: { results: { report } } } };
    expect(checkTotals(but({ operations: [twice] })).held).toBe(false);
    const unsent = sound().ledger.filter(({ kind, customer }) => kind !== 'mailed' || customer !== 3);
    expect(checkTotals(but({ ledger: unsent })).held).toBe(false);
    expect(checkTotals(heard(entry('mailed', { mail: mailOf(3), customer: 3 }))).held).toBe(true);
  });

  it('see a try that nothing explains', () => {
    const again = entry('mailing', { mail: mailOf(3), customer: 3 });
    expect(checkExecutions(heard(again)).held).toBe(false);
    expect(checkExecutions(heard(again, entry('aborted', { mail: mailOf(3) }))).held).toBe(true);
    const jobs = new Map(sound().jobs).set(mailOf(3), { retryCount: 0, orphanCount: 1 } as JobView);
    expect(checkExecutions({ ...heard(again), jobs }).held).toBe(true);
  });

  it('see a step that was given a second group, or none', () => {
    const second = { id: `${BATCH}:gold:2`, status: 'COMPLETED' } as GroupView;
    expect(checkOneGroupPerStep(but({ groups: [...sound().groups, second] })).held).toBe(false);
    expect(checkOneGroupPerStep(but({ groups: sound().groups.slice(1) })).held).toBe(false);
  });

  it('see what is left open, and a status URL that no other door answered', () => {
    expect(checkNothingLeft(but({ openBatches: 1 })).held).toBe(false);
    expect(checkNothingLeft(but({ openOperations: 1 })).held).toBe(false);
    expect(checkNothingLeft(but({ groups: [{ id: 'x', status: 'RUNNING' } as GroupView] })).held).toBe(false);
    const here = sound().ledger.filter(({ kind }) => kind !== 'looked');
    expect(checkOtherDoor(but({ ledger: here })).held).toBe(false);
  });
});
