import { describe, expect, it } from 'vitest';
import { checkEnds, checkRecords } from '../src/outbox/check-ends.js';
import { checkFeatures } from '../src/outbox/check-features.js';
import type { Evidence, StoredTask } from '../src/outbox/evidence.js';
import { expectedOutcome } from '../src/outbox/expected.js';
import type { Plan } from '../src/outbox/plan.js';
import type { Deed, Story, TaskScript } from '../src/outbox/scripts.js';
import type { PlannedTask } from '../src/outbox/shapes.js';

const plain = (key: string, after: string[], rest: Partial<PlannedTask> = {}): PlannedTask => ({
  key,
  after,
  mode: 'transactional',
  ...rest,
});
const script = (does: Deed = 'works', rest: Partial<TaskScript> = {}): TaskScript => ({
  does,
  ms: 1,
  writes: 'last',
  heedless: false,
  ...rest,
});

describe('what a batch of an outbox scenario must come to', () => {
  const ends = (tasks: PlannedTask[], failing: string[], isMended = false, unwanted: string[] = []) => {
    const scripts = tasks.map(({ key }): [string, TaskScript] => [
      key,
      failing.includes(key)
        ? script('fails-at-once', { curable: true })
        : script('works', { unwanted: unwanted.includes(key) }),
    ]);
    const outcome = expectedOutcome(tasks, Object.fromEntries(scripts), isMended);
    return { status: outcome.status, ...Object.fromEntries(outcome.ends) };
  };
  const join = (rule: PlannedTask['join'], onFailure: PlannedTask['onFailure']): PlannedTask[] => [
    plain('a', [], onFailure ? { onFailure } : {}),
    plain('b', [], onFailure ? { onFailure } : {}),
    plain('c', ['a', 'b'], rule ? { join: rule } : {}),
    plain('d', ['c']),
  ];
  const [cascade, blocked] = ['SKIPPED by cascade', 'blocked'];

  it.each([
    ['all', 'skip', ['a'], cascade, 'DONE'],
    ['all', 'continue', ['a', 'b'], 'DONE', 'DONE'],
    ['all', 'fail', ['a'], blocked, 'FAILED'],
    ['any', 'skip', ['a'], 'DONE', 'DONE'],
    ['any', 'skip', ['a', 'b'], cascade, 'DONE'],
    ['any', 'fail', ['a'], 'DONE', 'FAILED'],
    [{ atLeast: 2 }, 'skip', ['a'], cascade, 'DONE'],
    [{ atLeast: 1 }, 'skip', ['a'], 'DONE', 'DONE'],
    ['all-done', 'skip', ['a', 'b'], 'DONE', 'DONE'],
    ['all-done', 'fail', ['a'], blocked, 'FAILED'],
  ] as const)(
    'join %j of tasks that may fail under %s, of which %j do',
    (rule, policy, failing, end, status) => {
      expect(ends(join(rule, policy), [...failing])).toMatchObject({ c: end, d: end, status });
      expect(ends(join(rule, policy), [...failing], true)).toMatchObject({
        a: 'DONE',
        c: 'DONE',
        status: 'DONE',
      });
    },
  );

  it('conditions, and tasks that nobody comes to add', () => {
    const chain = [plain('a', []), plain('b', ['a'], { conditional: true }), plain('c', ['b'])];
    expect(ends(chain, [], false, ['b'])).toEqual({
      status: 'DONE',
      a: 'DONE',
      b: 'SKIPPED by condition',
      c: cascade,
    });
    const growing = [plain('a', []), plain('x', ['a'], { addedBy: 'a' }), plain('c', ['a', 'x'])];
    expect(ends(growing, ['a'])).toEqual({ status: 'FAILED', a: 'FAILED', c: blocked });
    expect(ends(growing, ['x'])).toEqual({ status: 'FAILED', a: 'DONE', x: 'FAILED', c: blocked });
  });
});

/** t1 fails under `skip`, t2 is skipped with it, t3 waits for both ends; t4 is not wanted. */
const tasks: PlannedTask[] = [
  plain('t0', []),
  plain('t1', ['t0'], { onFailure: 'skip' }),
  plain('t2', ['t1']),
  plain('t3', ['t1', 't2'], { join: 'all-done' }),
  plain('t4', ['t0'], { conditional: true }),
];
const scripts = {
  t0: script(),
  t1: script('fails-at-once'),
  t2: script(),
  t3: script(),
  t4: script('works', { unwanted: true }),
};

const planOf = (story: Story, own: Readonly<Record<string, TaskScript>> = scripts): Plan => ({
  dags: [{ name: 'd', tasks }],
  batches: [{ bizKey: 'b', dag: 'd', dueMs: 0, push: 'alone', payload: { scripts: own }, story }],
});

const stored = (key: string, state: string): StoredTask => {
  const [status = '', skippedBy = null] = state.split(' by ') as [string, StoredTask['skippedBy']?];
  return {
    name: `b#${key}`,
    status,
    skippedBy,
    attempts: 1,
    lost: 0,
    result: status === 'DONE' ? { run: key } : null,
    error: status === 'FAILED' ? { code: 'UNKNOWN' } : null,
    letters: status === 'FAILED' ? 1 : 0,
  };
};

const GOOD = {
  t0: 'DONE',
  t1: 'FAILED',
  t2: 'SKIPPED by cascade',
  t3: 'DONE',
  t4: 'SKIPPED by condition',
};

function evidence(
  states: Readonly<Record<string, string>>,
  {
    status = 'DONE',
    plan = planOf({}),
    moves = ['DONE'],
    aborts = [] as string[],
  }: { status?: string; plan?: Plan; moves?: string[]; aborts?: string[] } = {},
): Evidence {
  const all = Object.entries(states).map(([key, state]) => stored(key, state));
  const counts: Record<string, number> = {};
  for (const task of all) counts[task.status] = (counts[task.status] ?? 0) + 1;
  return {
    plan,
    batches: [{ id: '7', bizKey: 'b', runNo: 1, status, openCount: 0, counts }],
    tasks: new Map(all.map((task) => [task.name, task])),
    effects: [],
    ends: [],
    moves: moves.map((to, at) => ({ bizKey: 'b', from: moves[at - 1] ?? 'RUNNING', to })),
    orders: [],
    ticks: 0,
    testimony: {
      acknowledged: [],
      runs: [],
      aborts: aborts.map((told) => ({ bizKey: 'b', status: told })),
      retries: { batches: 0, tasks: 0 },
      refusals: {},
      exits: {},
    },
  };
}

describe('the checker of ends in outbox scenarios', () => {
  const held = (...given: Parameters<typeof evidence>) => checkEnds(evidence(...given)).held;

  it('finds nothing wrong where every task ended as it must', () => {
    expect(checkEnds(evidence(GOOD))).toMatchObject({ held: true });
  });

  it('sees each task that ended otherwise, that never ended, or that is not there', () => {
    for (const key of Object.keys(GOOD))
      for (const state of [
        'DONE',
        'FAILED',
        'CANCELLED',
        'READY',
        'SKIPPED by cascade',
        'SKIPPED by condition',
      ])
        expect([key, state, held({ ...GOOD, [key]: state })]).toEqual([
          key,
          state,
          GOOD[key as keyof typeof GOOD] === state,
        ]);
    const { t4: _, ...missing } = GOOD;
    expect(held(missing)).toBe(false);
  });

  it('sees a batch in another state than its tasks imply', () => {
    for (const status of ['RUNNING', 'FAILED', 'ABORTED']) expect(held(GOOD, { status })).toBe(false);
  });

  it('lets tasks of a batch that failed be cancelled, but not run or be skipped without a reason', () => {
    const plan = planOf({ fails: true }, { ...scripts, t3: script('fails-always') });
    const failed = { ...GOOD, t3: 'FAILED', t4: 'CANCELLED' };
    const options = { status: 'FAILED', plan };
    expect(held(failed, options)).toBe(true);
    expect(held({ ...failed, t3: 'CANCELLED' }, options)).toBe(false);
    expect(held({ ...failed, t2: 'CANCELLED' }, options)).toBe(false); // t3 had to see its end.
    expect(held({ ...failed, t4: 'DONE' }, options)).toBe(false);
    expect(held(failed, { ...options, status: 'DONE' })).toBe(false);
  });

  it('sees an aborted batch of which something else was told, and one that nobody aborted', () => {
    const cut = { ...GOOD, t1: 'CANCELLED', t2: 'CANCELLED', t3: 'CANCELLED' };
    const plan = planOf({ abortAfterMs: 1 });
    const aborted = { status: 'ABORTED', plan, aborts: ['ABORTED'] };
    expect(held(cut, aborted)).toBe(true);
    expect(held(GOOD, { plan, aborts: ['DONE'] })).toBe(true);
    expect(held(cut, { ...aborted, aborts: ['ABORTED', 'DONE'] })).toBe(false);
    expect(held(cut, { ...aborted, aborts: [] })).toBe(false);
    expect(held(cut, { ...aborted, plan: planOf({}) })).toBe(false);
    expect(held({ ...cut, t1: 'READY' }, aborted)).toBe(false);
    expect(held({ ...cut, t3: 'DONE' }, aborted)).toBe(false);
  });

  it('wants what was repaired to work after a retry, and a batch that was retried to be done', () => {
    const plan = planOf(
      { fails: true, mends: 'all' },
      { ...scripts, t1: script('fails-at-once', { curable: true }) },
    );
    const again = { plan, moves: ['FAILED', 'RUNNING', 'DONE'] };
    expect(held({ ...GOOD, t1: 'DONE', t2: 'DONE' }, again)).toBe(true);
    expect(held(GOOD, again)).toBe(false);
    expect(held({ ...GOOD, t1: 'DONE', t2: 'CANCELLED' }, again)).toBe(false);
    expect(held({ ...GOOD, t1: 'DONE', t2: 'DONE' }, { ...again, status: 'FAILED' })).toBe(false);
    expect(held({ ...GOOD, t1: 'DONE', t2: 'DONE' }, { ...again, plan: planOf({}) })).toBe(false);
  });
});

describe('the checker of records in outbox scenarios', () => {
  it('sees counts, results, errors, reasons and dead letters that are not those of the states', () => {
    const good = evidence(GOOD);
    expect(checkRecords(good)).toMatchObject({ held: true });
    const [batch] = good.batches;
    if (!batch) throw new Error('there is a batch');
    for (const counts of [null, { DONE: 5 }, { ...batch.counts, READY: 1 }])
      expect(checkRecords({ ...good, batches: [{ ...batch, counts }] })).toMatchObject({ held: false });
    const changed: [string, Partial<StoredTask>][] = [
      ['t0', { result: null }],
      ['t1', { result: {} }],
      ['t1', { error: null }],
      ['t1', { letters: 0 }],
      ['t0', { letters: 1 }],
      ['t2', { skippedBy: null }],
      ['t0', { skippedBy: 'condition' }],
    ];
    for (const [key, change] of changed) {
      const own = new Map(good.tasks);
      own.set(`b#${key}`, { ...stored(key, GOOD[key as keyof typeof GOOD]), ...change });
      expect([key, change, checkRecords({ ...good, tasks: own }).held]).toEqual([key, change, false]);
    }
  });
});

describe('the checker of features in outbox scenarios', () => {
  it('counts what occurred, and fails where something did not', () => {
    const { held, evidence: counts } = checkFeatures(evidence(GOOD));
    expect(held).toBe(false);
    for (const text of [
      'after all ends × 1',
      'under skip × 1',
      'at once × 1',
      'skipped by condition × 1',
      'by cascade × 1',
    ])
      expect(counts).toContain(text);
    for (const text of ['ran after any × 0', 'by all tries × 0', 'ended ABORTED × 0', 'run again × 0'])
      expect(counts).toContain(text);
  });
});
