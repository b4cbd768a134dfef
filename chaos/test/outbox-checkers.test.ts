import { seededRng } from '@millrace/foundation';
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
import { drawPlan, type Plan, taskName, wanted } from '../src/outbox/plan.js';

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
const stored = { id: '7', bizKey: 'b', runNo: 1, status: 'DONE', openCount: 0 };

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
    orders: ['b'],
    ticks: 0,
    ...changes,
    testimony: {
      acknowledged: [
        { bizKey: 'b', id: '7', created: true },
        { bizKey: 'b', id: '7', created: false },
      ],
      runs,
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

  it('see a second row, a missing one, and one by another run than is recorded', () => {
    const { effects } = evidence();
    const wrong = (changes: Partial<Evidence>) =>
      expect(checkOneRowEach(evidence(changes))).toMatchObject({ held: false });
    wrong({ effects: [...effects, { seq: '3', name: 'b#t0', run: 'stale', found: [] }] });
    wrong({ effects: effects.slice(1) });
    wrong({ effects: [...effects, { seq: '3', name: 'b#t2', run: 'r2', found: [] }] });
    wrong({ tasks: tasksWith(task('t0', { result: { run: 'other', seq: '1' } })) });
    wrong({ tasks: tasksWith(task('t0', { result: null })) });
  });

  it('see a batch that is missing, doubled, not DONE, unacknowledged, of another id, or that was taken back', () => {
    const wrong = (changes: Partial<Evidence>, testimony?: Partial<Testimony>) =>
      expect(checkNoLoss(evidence(changes, testimony))).toMatchObject({ held: false });
    wrong({ batches: [] });
    wrong({ batches: [stored, { ...stored, id: '8', runNo: 2 }] });
    wrong({ batches: [{ ...stored, status: 'RUNNING' }] });
    wrong({ batches: [stored, { ...stored, id: '8', bizKey: 'gone' }] });
    wrong({ tasks: tasksWith(task('t1', { status: 'FAILED' })) });
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

  it('see a task that started before its predecessor, by what it was given and by what it saw', () => {
    const early = [runs[0] as Run, run('t1', {}), runs[2] as Run];
    expect(checkOrder(evidence({}, { runs: early }))).toMatchObject({ held: false });
    const blind = evidence().effects.map((effect) => ({ ...effect, found: [] }));
    expect(checkOrder(evidence({ effects: blind }))).toMatchObject({ held: false });
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
    ]);
    expect(told.acknowledged).toEqual([{ bizKey: 'b', id: '7', created: true }]);
    expect(told.refusals).toEqual({ BACKEND_UNAVAILABLE: 1 });
    expect(told.exits).toEqual({ 'exits-within': 1 });
    expect(told.runs).toMatchObject([
      { run: '7-1', endedAt: 31, how: 'done', frozen: { from: 20, to: 30 } },
      { run: '8-1', endedAt: undefined, how: undefined, frozen: undefined },
    ]);
  });
});

describe('the plan of an outbox scenario', () => {
  const size = { tasks: 130, ms: [30, 200], arrivalMs: 3500 } as const;

  it('is the same for the same seed, has enough tasks, and every shape, deed and way to push', () => {
    const drawn = drawPlan(seededRng(1), size);
    expect(drawPlan(seededRng(1), size)).toEqual(drawn);
    expect(drawPlan(seededRng(2), size)).not.toEqual(drawn);
    const dags = new Map(drawn.dags.map((dag) => [dag.name, dag.tasks]));
    const names = wanted(drawn).flatMap(({ bizKey, dag }) =>
      (dags.get(dag) ?? []).map(({ key }) => taskName(bizKey, key)),
    );
    expect(names.length).toBeGreaterThanOrEqual(size.tasks);
    expect(new Set(names).size).toBe(names.length);
    const shapes = new Set(wanted(drawn).map(({ dag }) => dag.split('-')[0]));
    expect([...shapes].sort()).toEqual(['chain', 'diamond', 'fan', 'growing', 'web', 'wide']);
    expect(new Set(drawn.batches.map(({ push }) => push))).toEqual(
      new Set(['alone', 'with-order', 'rolled-back']),
    );
    const deeds = drawn.batches.flatMap(({ payload }) =>
      Object.values(payload.scripts).map(({ does }) => does),
    );
    expect(new Set(deeds)).toEqual(new Set(['works', 'fails-first', 'exits-within', 'exits-after']));
    for (const { dueMs } of drawn.batches) expect(dueMs).toBeLessThan(size.arrivalMs);
  });

  it('has tasks that wait only for those before them, one join wider than 64, and tasks that others add', () => {
    const { dags } = drawPlan(seededRng(3), size);
    for (const { tasks } of dags) {
      const keys = tasks.map(({ key }) => key);
      tasks.forEach(({ after }, at) => {
        for (const key of after) expect(keys.slice(0, at)).toContain(key);
        expect(new Set(after).size).toBe(after.length);
      });
      expect(tasks[0]?.after).toEqual([]);
    }
    const widest = Math.max(...dags.flatMap(({ tasks }) => tasks.map(({ after }) => after.length)));
    expect(widest).toBeGreaterThan(64);
    const [diamond] = dags.filter(({ name }) => name.startsWith('diamond'));
    expect(diamond?.tasks.slice(0, 4).map(({ after }) => after)).toEqual([[], ['t0'], ['t0'], ['t1', 't2']]);
    const added = dags.flatMap(({ tasks }) => tasks).filter(({ addedBy }) => addedBy !== undefined);
    expect(added.length).toBeGreaterThan(0);
  });
});
