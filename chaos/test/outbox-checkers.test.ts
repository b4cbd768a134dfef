import { describe, expect, it } from 'vitest';
import { checkEndedOnce, checkNoLoss, checkNothingLeft, checkRefusals } from '../src/outbox/check-batches.js';
import { checkOneRowEach, checkOrder, checkRuns, checkStaleRefused } from '../src/outbox/check-effects.js';
import {
  type Evidence,
  type Run,
  type StoredTask,
  type Testimony,
  testimonyOf,
} from '../src/outbox/evidence.js';
import type { Plan } from '../src/outbox/plan.js';

const script = { does: 'works', ms: 1, writes: 'last', heedless: false } as const;
const batch = (bizKey: string, push: 'alone' | 'with-order' | 'rolled-back') => ({
  bizKey,
  dag: 'pair',
  dueMs: 0,
  push,
  payload: { scripts: { t0: script, t1: script } },
});
/** t1 after t0, which is external; one batch that exists and one that was taken back. */
const plan: Plan = {
  dags: [
    {
      name: 'pair',
      tasks: [
        { key: 't0', after: [], mode: 'transactional' },
        { key: 't1', after: ['t0'], mode: 'transactional' },
        { key: 't2', after: ['t1'], mode: 'external' },
      ],
    },
  ],
  batches: [batch('b', 'with-order'), batch('gone', 'rolled-back')],
};

const task = (key: string, rest: Partial<StoredTask> = {}): StoredTask => ({
  name: `b#${key}`,
  status: 'DONE',
  attempts: 1,
  lost: 0,
  result: null,
  error: null,
  skippedBy: null,
  letters: 0,
  ...rest,
});
const results = { t0: { run: 'r0', seq: '1' }, t1: { run: 'r1', seq: '2' }, t2: { run: 'r2' } };
const run = (key: 't0' | 't1' | 't2', inputs: object, rest: Partial<Run> = {}): Run => ({
  run: results[key].run,
  name: `b#${key}`,
  inputs: inputs as Run['inputs'],
  beganAt: 1000,
  endedAt: 1010,
  how: 'done',
  frozen: undefined,
  ...rest,
});
const runs = [run('t0', {}), run('t1', { t0: results.t0 }), run('t2', { t1: results.t1 })];
const stored = { id: '7', bizKey: 'b', runNo: 1, status: 'DONE', openCount: 0, counts: { DONE: 3 } };

const tasksWith = (...changed: StoredTask[]): Evidence['tasks'] => {
  const all = (['t0', 't1', 't2'] as const).map((key) => task(key, { result: results[key] }));
  return new Map([...all, ...changed].map((each) => [each.name, each]));
};

/** A run in which everything went well, with what is given changed. */
function evidence(changes: Partial<Evidence> = {}, testimony: Partial<Testimony> = {}): Evidence {
  return {
    plan,
    batches: [stored],
    tasks: tasksWith(),
    effects: [
      { seq: '1', name: 'b#t0', run: 'r0', found: [] },
      { seq: '2', name: 'b#t1', run: 'r1', found: ['t0'] },
    ],
    ends: [{ bizKey: 'b', status: 'DONE', effects: 2 }],
    moves: [{ bizKey: 'b', from: 'RUNNING', to: 'DONE' }],
    orders: ['b'],
    ticks: 0,
    ...changes,
    testimony: {
      acknowledged: [
        { bizKey: 'b', id: '7', created: true },
        { bizKey: 'b', id: '7', created: false },
      ],
      runs,
      aborts: [],
      retries: { batches: 0, tasks: 0 },
      refusals: { BACKEND_UNAVAILABLE: 3 },
      exits: {},
      ...testimony,
    },
  };
}

describe('the checkers of outbox scenarios', () => {
  it('find nothing wrong in a run that went well', () => {
    const good = evidence();
    for (const check of [
      checkOneRowEach,
      checkNoLoss,
      checkEndedOnce,
      checkRuns,
      checkNothingLeft,
      checkOrder,
    ])
      expect(check(good)).toMatchObject({ held: true });
    expect(checkRefusals(good)).toMatchObject({ held: true });
  });

  it('see a second row, a missing one, one by another run than is recorded, and one of a task that is not done', () => {
    const { effects } = evidence();
    const wrong = (changes: Partial<Evidence>) =>
      expect(checkOneRowEach(evidence(changes))).toMatchObject({ held: false });
    wrong({ effects: [...effects, { seq: '3', name: 'b#t0', run: 'stale', found: [] }] });
    wrong({ effects: effects.slice(1) });
    wrong({ effects: [...effects, { seq: '3', name: 'b#t2', run: 'r2', found: [] }] });
    wrong({ tasks: tasksWith(task('t0', { result: { run: 'other', seq: '1' } })) });
    wrong({ tasks: tasksWith(task('t0', { result: null })) });
    wrong({ tasks: tasksWith(task('t0', { status: 'CANCELLED' })) });
  });

  it('see a batch or task that is missing or doubled, unacknowledged, of another id, or that was taken back', () => {
    const wrong = (changes: Partial<Evidence>, testimony?: Partial<Testimony>) =>
      expect(checkNoLoss(evidence(changes, testimony))).toMatchObject({ held: false });
    wrong({ batches: [] });
    wrong({ batches: [stored, { ...stored, id: '8', runNo: 2 }] });
    wrong({ batches: [stored, { ...stored, id: '8', bizKey: 'gone' }] });
    wrong({ tasks: new Map([...tasksWith()].slice(1)) });
    wrong({ tasks: tasksWith(task('t9')) });
    wrong({ orders: [] });
    wrong({ orders: ['b', 'b'] });
    wrong({ orders: ['b', 'gone'] });
    wrong({}, { acknowledged: [] });
    wrong({}, { acknowledged: [{ bizKey: 'b', id: '6', created: true }] });
    const created = { bizKey: 'b', id: '7', created: true };
    wrong({}, { acknowledged: [created, created] });
  });

  it('see an end that was told twice, never, otherwise, or before the last effect', () => {
    const end = { bizKey: 'b', status: 'DONE', effects: 2 };
    for (const ends of [[end, end], [], [{ ...end, status: 'FAILED' }], [{ ...end, effects: 1 }]])
      expect(checkEndedOnce(evidence({ ends }))).toMatchObject({ held: false });
  });

  it('see which of several ends was not told, and a second end of a batch that nobody retries', () => {
    const [failed, done] = ['FAILED', 'DONE'].map((status) => ({ bizKey: 'b', status, effects: 2 }));
    const moves = [
      { bizKey: 'b', from: 'RUNNING', to: 'FAILED' },
      { bizKey: 'b', from: 'FAILED', to: 'RUNNING' },
      { bizKey: 'b', from: 'RUNNING', to: 'DONE' },
    ];
    const mended: Plan = {
      ...plan,
      batches: plan.batches.map((each) => ({ ...each, story: { mends: 'all' } })),
    };
    const held = (ends: unknown[], own = mended) =>
      checkEndedOnce(evidence({ plan: own, ends: ends as Evidence['ends'], moves })).held;
    expect(held([failed, done])).toBe(true);
    expect(held([failed, done], plan)).toBe(false);
    for (const ends of [[done], [failed], [done, failed], [failed, failed, done]])
      expect(held(ends)).toBe(false);
  });

  it('see a run that nothing explains, a task that never ran, and a record of a run that did not end', () => {
    const again = run('t2', { t1: results.t1 }, { run: 'r3' });
    expect(checkRuns(evidence({}, { runs: [...runs, again] }))).toMatchObject({ held: false });
    const lost = tasksWith(task('t2', { result: results.t2, lost: 1 }));
    expect(checkRuns(evidence({ tasks: lost }, { runs: [...runs, again] }))).toMatchObject({ held: true });
    const charged = tasksWith(task('t2', { result: results.t2, attempts: 2 }));
    expect(checkRuns(evidence({ tasks: charged }))).toMatchObject({ held: false });
    expect(checkRuns(evidence({}, { runs: runs.slice(1) }))).toMatchObject({ held: false });
    const unended = [...runs.slice(0, 2), run('t2', { t1: results.t1 }, { how: undefined })];
    expect(checkRuns(evidence({}, { runs: unended }))).toMatchObject({ held: false });
  });

  it('see a task that was skipped and ran, and one that failed for good with tries left', () => {
    const skipped = tasksWith(task('t2', { status: 'SKIPPED', skippedBy: 'condition' }));
    expect(checkRuns(evidence({ tasks: skipped }))).toMatchObject({ held: false });
    expect(checkRuns(evidence({ tasks: skipped }, { runs: runs.slice(0, 2) }))).toMatchObject({ held: true });
    const scripts = { t2: { ...script, does: 'fails-always' as const } };
    const failing = { ...plan, batches: [{ ...batch('b', 'alone'), payload: { scripts } }] };
    const failed = (attempts: number, lost: number) =>
      evidence({ plan: failing, tasks: tasksWith(task('t2', { status: 'FAILED', attempts, lost })) });
    expect(checkRuns(failed(3, 0))).toMatchObject({ held: true });
    expect(checkRuns(failed(2, 1))).toMatchObject({ held: false });
  });

  it('see a task that started before its predecessor, by what it was given and by what it saw', () => {
    const early = [runs[0] as Run, run('t1', {}), runs[2] as Run];
    expect(checkOrder(evidence({}, { runs: early }))).toMatchObject({ held: false });
    const forged = [...runs.slice(0, 2), run('t2', { t1: { run: 'other' } })];
    expect(checkOrder(evidence({}, { runs: forged }))).toMatchObject({ held: false });
    const blind = evidence().effects.map((effect) => ({ ...effect, found: [] }));
    expect(checkOrder(evidence({ effects: blind }))).toMatchObject({ held: false });
  });

  it('see what a run was given of joins that need not all, and of a task that failed under `continue`', () => {
    const [error, [t0, t1, t2]] = [{ code: 'UNKNOWN' }, plan.dags[0]?.tasks ?? []];
    if (!t0 || !t1 || !t2) throw new Error('there are three');
    const held = (
      join: 'any' | 'all-done' | { atLeast: number },
      inputs: object,
      moves?: Evidence['moves'],
    ) => {
      const tasks = [
        t0,
        { ...t1, after: [], onFailure: 'continue' as const },
        { ...t2, join, after: ['t0', 't1'] },
      ];
      const own = { ...plan, dags: [{ name: 'pair', tasks }] };
      const stored = tasksWith(task('t1', { status: 'FAILED', error }));
      const all = [runs[0] as Run, run('t2', inputs)];
      return checkOrder(evidence({ plan: own, tasks: stored, ...(moves && { moves }) }, { runs: all })).held;
    };
    const both = { t0: results.t0, t1: { error } };
    for (const join of ['any', 'all-done', { atLeast: 2 }] as const) expect(held(join, both)).toBe(true);
    expect(held('any', { t0: results.t0 })).toBe(true);
    expect(held('any', {})).toBe(false);
    expect(held({ atLeast: 2 }, { t0: results.t0 })).toBe(false);
    expect(held('all-done', { t0: results.t0 })).toBe(false);
    const other = { ...both, t1: { error: { code: 'OTHER' } } };
    expect(held('any', other)).toBe(false);
    const again = [{ bizKey: 'b', from: 'FAILED', to: 'RUNNING' }];
    expect(held('any', other, again)).toBe(true);
    expect(held('any', { t0: { error } }, again)).toBe(false);
  });

  it('see a frozen run that was recorded though another had the task, and miss one where there is none', () => {
    expect(checkStaleRefused(evidence())).toMatchObject({ held: false });
    const frozen = { from: 1005, to: 3000 };
    const taker = run('t0', {}, { run: 'taker', beganAt: 2000, endedAt: 2010 });
    const woken = run('t0', {}, { frozen, endedAt: 3010 });
    const took = tasksWith(task('t0', { result: { run: 'taker', seq: '1' } }));
    const play = { runs: [woken, taker] };
    expect(checkStaleRefused(evidence({ tasks: took }, play))).toMatchObject({ held: true });
    expect(checkStaleRefused(evidence({}, play))).toMatchObject({ held: false });
  });

  it('see what is left under way or to be counted, and a refusal that is none of PostgreSQL’s', () => {
    expect(checkNothingLeft(evidence({ ticks: 1 }))).toMatchObject({ held: false });
    const busy = tasksWith(task('t0', { status: 'PROCESSING' }));
    expect(checkNothingLeft(evidence({ tasks: busy }))).toMatchObject({ held: false });
    const open = [{ ...stored, openCount: 1 }];
    expect(checkNothingLeft(evidence({ batches: open }))).toMatchObject({ held: false });
    expect(checkRefusals(evidence({}, { refusals: { '23505': 1 } }))).toMatchObject({ held: false });
  });
});

describe('what the ledger of an outbox scenario says', () => {
  const entry = (kind: string, at: number, fields: object = {}, pid = 7) => ({
    kind,
    at,
    pid,
    seq: 1,
    ...fields,
  });

  it('joins begin and end of a run, and finds what its process slept through', () => {
    const name = { task: 'b#t0', run: '7-1' };
    const told = testimonyOf([
      entry('acknowledged', 1, { batch: 'b', id: '7', created: true }, 1),
      entry('refused', 1, { batch: 'b', code: 'BACKEND_UNAVAILABLE' }, 1),
      entry('began', 10, { ...name, inputs: {} }),
      entry('paused', 20, { worker: 7 }, 1),
      entry('began', 21, { task: 'b#t1', run: '8-1', inputs: {} }, 8),
      entry('woken', 30, { worker: 7 }, 1),
      entry('ended', 31, { ...name, how: 'done' }),
      entry('exits', 32, { task: 'b#t1', does: 'exits-within' }, 8),
      entry('abort-answered', 33, { batch: 'b', status: 'ABORTED' }, 1),
      entry('retried', 34, { batch: 'b' }, 1),
      entry('task-retried', 35, { batch: 'b', task: 't0', how: 'retried' }, 1),
      entry('task-retried', 36, { batch: 'b', task: 't0', how: 'too-late' }, 1),
    ]);
    expect(told.acknowledged).toEqual([{ bizKey: 'b', id: '7', created: true }]);
    expect(told.refusals).toEqual({ BACKEND_UNAVAILABLE: 1 });
    expect(told.exits).toEqual({ 'exits-within': 1 });
    expect(told.aborts).toEqual([{ bizKey: 'b', status: 'ABORTED' }]);
    expect(told.retries).toEqual({ batches: 1, tasks: 1 });
    expect(told.runs).toMatchObject([
      { run: '7-1', endedAt: 31, how: 'done', frozen: { from: 20, to: 30 } },
      { run: '8-1', endedAt: undefined, how: undefined, frozen: undefined },
    ]);
  });
});
