import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { accountNames, checkAccounts } from '../src/outbox/accounts.js';
import { checkRuns } from '../src/outbox/check-effects.js';
import { drawConflictPlan, probeBatch, wholePlan } from '../src/outbox/conflict-plan.js';
import { conflictScale } from '../src/outbox/conflict-settings.js';
import { checkConflictsFree, checkConflictsHappened } from '../src/outbox/conflicts.js';
import { type Evidence, type StoredTask, testimonyOf } from '../src/outbox/evidence.js';
import { checkCrossed } from '../src/outbox/interleave.js';
import { checkPickedUp } from '../src/outbox/lost-hints.js';
import { type Plan, type PlannedBatch, tasksOf, wanted } from '../src/outbox/plan.js';
import { checkLiveness } from '../src/outbox/throughput.js';
import { speedOf } from '../src/recovery.js';

const entry = (kind: string, at: number, fields: object = {}) => ({ kind, at, pid: 7, seq: 1, ...fields });
const script = { does: 'works', ms: 1, writes: 'last', heedless: false, accounts: ['a', 'b'] } as const;
const batch = (bizKey: string): PlannedBatch => ({
  bizKey,
  dag: 'lone',
  dueMs: 0,
  push: 'alone',
  payload: { scripts: { t0: script } },
});
const [late, early] = [batch('late'), batch('early')];
const plan: Plan = {
  dags: [{ name: 'lone', tasks: [{ key: 't0', after: [], mode: 'transactional' }] }],
  batches: [late, early],
};
const stored = (id: string, bizKey: string, status = 'DONE') => ({
  id,
  bizKey,
  runNo: 1,
  status,
  openCount: 0,
  counts: null,
});
const task = (bizKey: string, rest: Partial<StoredTask> = {}): [string, StoredTask] => [
  `${bizKey}#t0`,
  {
    name: `${bizKey}#t0`,
    status: 'DONE',
    attempts: 1,
    lost: 0,
    result: { run: `${bizKey}-1` },
    error: null,
    skippedBy: null,
    letters: 0,
    ...rest,
  },
];
const run = (bizKey: string, number: number, at: number, ended: object = { how: 'done' }) => [
  entry('began', at, { task: `${bizKey}#t0`, run: `${bizKey}-${number}`, inputs: {} }),
  entry('ended', at + 5, { task: `${bizKey}#t0`, run: `${bizKey}-${number}`, ...ended }),
];
const acknowledged = (bizKey: string, id: string, at: number) =>
  entry('acknowledged', at, { batch: bizKey, id, created: true });
/** The early batch runs before the late one is committed. */
const ledger = [
  acknowledged('early', '2', 10),
  ...run('early', 1, 20),
  acknowledged('late', '1', 30),
  ...run('late', 1, 40),
];

/** A run in which everything went well, with what is given changed. */
const evidence = (changes: Partial<Evidence> = {}, entries = ledger): Evidence => ({
  plan,
  testimony: testimonyOf(entries),
  batches: [stored('1', 'late'), stored('2', 'early')],
  tasks: new Map([task('late'), task('early')]),
  effects: [],
  ends: [],
  moves: [],
  orders: [],
  ticks: 0,
  ...changes,
});

describe('the checkers of conflicts', () => {
  const deadlock = run('late', 2, 35, { how: 'failed', sqlState: '40P01' });

  it('see a batch that was skipped or not done, and pairs that were not crossed', () => {
    const held = (changes: Partial<Evidence>, entries = ledger) =>
      checkCrossed(evidence(changes, entries), entries, [{ late, early }]).held;
    expect(held({})).toBe(true);
    expect(held({}, ledger.slice(0, 4))).toBe(false);
    expect(held({ batches: [stored('1', 'late', 'RUNNING'), stored('2', 'early')] })).toBe(false);
    expect(held({ batches: [stored('3', 'late'), stored('2', 'early')] })).toBe(false);
    const before = [acknowledged('late', '1', 5), ...ledger.filter(({ at }) => at !== 30)];
    expect(held({}, before)).toBe(false);
  });

  it('see an attempt that was charged for a conflict, and miss conflicts where there are none', () => {
    const met = [...ledger, ...deadlock];
    const held = (attempts: number, entries = met) =>
      checkConflictsFree(
        evidence({ tasks: new Map([task('late', { attempts }), task('early')]) }, entries),
        entries,
      ).held;
    expect(held(1)).toBe(true);
    expect(held(2)).toBe(false);
    expect(held(1, ledger)).toBe(false);
    const returned = [...ledger, entry('try-ended', 36, { batchId: '1', task: 't0', result: 'returned' })];
    expect(held(1, returned)).toBe(true);
    expect(held(2, returned)).toBe(false);
  });

  it('explain a repeat by a try that was given back, or whose giving back was not answered, and by nothing else', () => {
    const again = [...ledger, ...deadlock];
    const told = (result: string) =>
      checkRuns(evidence({}, [...again, entry('try-ended', 36, { batchId: '1', task: 't0', result })])).held;
    expect(told('returned')).toBe(true);
    expect(told('lost')).toBe(true);
    expect(told('done')).toBe(false);
    expect(checkRuns(evidence({}, again)).held).toBe(false);
  });

  it('see an account that was changed once too often, or too seldom', () => {
    const held = (a: number) =>
      checkAccounts(
        evidence(),
        new Map([
          ['a', a],
          ['b', 2],
        ]),
      ).held;
    expect(held(2)).toBe(true);
    expect(held(3)).toBe(false);
    expect(held(1)).toBe(false);
  });

  it('see work that nobody found without a hint, and hints that were not lost', () => {
    const deaf = (from: number, to: number, entries = ledger) => [
      entry('deaf', from),
      ...entries,
      entry('hears-again', to),
    ];
    expect(checkPickedUp(deaf(5, 50), 3).held).toBe(true);
    expect(checkPickedUp(deaf(5, 50), 0).held).toBe(false);
    expect(checkPickedUp(deaf(60, 70), 3).held).toBe(false);
    expect(checkPickedUp(deaf(5, 50, ledger.slice(0, 4)), 3).held).toBe(false);
    const slow = [acknowledged('late', '1', 10), ...run('late', 1, 9000)];
    expect(checkPickedUp(deaf(5, 50, slow), 3).held).toBe(false);
  });

  it('miss a fault that never happened', () => {
    const conflict = run('late', 3, 36, { how: 'failed', sqlState: '40001' });
    const all = [...ledger, ...deadlock, ...conflict];
    const held = (frozen: number, entries = all) =>
      checkConflictsHappened({ frozen }, evidence({}, entries), entries).held;
    expect(held(1)).toBe(true);
    expect(held(0)).toBe(false);
    expect(held(1, [...ledger, ...deadlock])).toBe(false);
    expect(held(1, [...ledger, ...conflict])).toBe(false);
  });

  it('measure throughput where all slots are taken, and want it back without a restart', () => {
    const ends = Array.from({ length: 100 }, (_, index) => index * 10);
    expect(speedOf(ends)).toBeCloseTo(100);
    const recovery = { probes: [], share: 0.95, tookMs: 1 };
    expect(checkLiveness(recovery, 0).held).toBe(true);
    expect(checkLiveness({ ...recovery, share: 0.85 }, 0).held).toBe(false);
    expect(checkLiveness(recovery, 1).held).toBe(false);
  });
});

describe('the plan of conflicts', () => {
  it('is the same for the same seed, and has accounts wanted in crossed order whatever is drawn', () => {
    const { size } = conflictScale(0.05);
    const names = accountNames(size.accounts);
    expect(drawConflictPlan(seededRng(1), size)).toEqual(drawConflictPlan(seededRng(1), size));
    for (let seed = 0; seed < 20; seed++) {
      const drawn = drawConflictPlan(seededRng(seed), size);
      const whole = wholePlan(drawn, [probeBatch('probe', drawn.pushed)]);
      const scripts = wanted(whole).flatMap(({ payload }) => Object.values(payload.scripts));
      const orders = new Set(scripts.flatMap(({ accounts }) => accounts?.join(' ') ?? []));
      expect(
        names.some((one) => names.some((two) => orders.has(`${one} ${two}`) && orders.has(`${two} ${one}`))),
      ).toBe(true);
      expect(new Set(whole.batches.map(({ bizKey }) => bizKey)).size).toBe(whole.batches.length);
      for (const each of whole.batches)
        expect(
          tasksOf(whole, each)
            .map(({ key }) => key)
            .sort(),
        ).toEqual(Object.keys(each.payload.scripts).sort());
      expect(whole.batches.some(({ story }) => story?.fails)).toBe(true);
      expect(new Set(drawn.pushed.batches.map(({ push }) => push)).size).toBe(3);
    }
  });
});
