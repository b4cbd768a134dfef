import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FailurePolicy, OutboxStatus } from '../../src/model.js';
import { type BatchState, type Need, reopen } from '../../src/rules/reopen.js';

type Task = BatchState['tasks'][number];

const END = fc.constantFrom(
  ...(['DONE', 'FAILED', 'CANCELLED', 'SKIPPED condition', 'SKIPPED cascade'] as const),
);
const ANY = fc.oneof(END, fc.constantFrom('READY' as const, 'PROCESSING' as const));

/** Batches in any states, also such as no batch ever gets into: what a retry makes of them depends on nothing else. */
const someBatch = (state: typeof ANY | typeof END): fc.Arbitrary<BatchState> =>
  fc
    .array(
      fc.record({
        state,
        onFailure: fc.constantFrom<FailurePolicy>('fail', 'skip', 'continue'),
        back: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }),
        join: fc.constantFrom('all' as const, 'all' as const, 'any' as const, 'all-done' as const, 2, 3),
        pre: fc.nat({ max: 3 }),
        open: fc.nat({ max: 3 }),
      }),
      { minLength: 1, maxLength: 10 },
    )
    .chain((rows) => {
      const edges: [string, string][] = [];
      const needs = new Map<string, Need>();
      const tasks = rows.map(({ state: name, onFailure, back, join, pre, open }, index): Task => {
        const key = `t${index}`;
        const parents = new Set(back.map((distance) => index - distance).filter((parent) => parent >= 0));
        for (const parent of parents) edges.push([`t${parent}`, key]);
        if (parents.size > 0 && join !== 'all') {
          const successes =
            join === 'any' ? 1 : join === 'all-done' ? parents.size : Math.min(join, parents.size);
          needs.set(key, { successes, ends: join === 'all-done' });
        }
        const [status, skippedBy] = name.split(' ') as [OutboxStatus, Task['skippedBy']];
        return { key, status, skippedBy, onFailure, pre, open };
      });
      // In any order: what is stored has none.
      const mixed = <T>(items: readonly T[]) =>
        fc.shuffledSubarray([...items], { minLength: items.length, maxLength: items.length });
      return fc.record({ tasks: mixed(tasks), edges: mixed(edges), needs: fc.constant(needs) });
    });

interface After {
  readonly status: OutboxStatus;
  readonly pre: number;
  readonly open: number;
}

/** Whether it had all it needs once, or has it now. */
const hasStarted = ({ status, pre }: Task): boolean =>
  status === 'FAILED' || (status === 'READY' && pre === 0);

/** The same by looking at everything again until nothing changes. */
function bruteForce({ tasks, edges, needs }: BatchState, only?: string): Map<string, After> {
  const parentsOf = (key: string) => edges.filter(([, to]) => to === key).map(([from]) => from);
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const again = new Set(wanted({ tasks, edges, needs }, only));
  const now = new Map(
    tasks.map(({ key, status, pre, open }): [string, After] => [
      key,
      { status: again.has(key) ? 'READY' : status, pre, open },
    ]),
  );
  const isOpen = (key: string) => ['READY', 'PROCESSING'].includes(now.get(key)?.status as string);
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const task of tasks) {
      const { key } = task;
      const own = now.get(key) as After;
      if (own.status !== 'READY') continue;
      const parents = parentsOf(key);
      const { successes, ends } = needs.get(key) ?? { successes: parents.length, ends: false };
      const isReached = (parent: string) =>
        ends ||
        now.get(parent)?.status === 'DONE' ||
        (now.get(parent)?.status === 'FAILED' && byKey.get(parent)?.onFailure === 'continue');
      const open = parents.filter(isOpen).length;
      const reached = parents.filter((parent) => !isOpen(parent) && isReached(parent)).length;
      const left = Math.max(0, successes - reached);
      const pre = hasStarted(task) ? Math.min(left, open) : left;
      const next: After = { status: open < pre ? 'SKIPPED' : 'READY', pre, open };
      if (JSON.stringify(next) === JSON.stringify(own)) continue;
      now.set(key, next);
      isChanged = true;
    }
  }
  return now;
}

function wanted({ tasks, edges }: BatchState, only?: string): string[] {
  const isSkipped = ({ status, skippedBy }: Task) => status === 'SKIPPED' && skippedBy === 'cascade';
  if (only === undefined)
    return tasks
      .filter((task) => task.status === 'FAILED' || task.status === 'CANCELLED' || isSkipped(task))
      .map(({ key }) => key);
  if (isFailing({ tasks }, only)) return [only];
  let found = tasks.filter(({ key, status }) => key === only || status === 'CANCELLED').map(({ key }) => key);
  for (let size = 0; size !== found.length; ) {
    size = found.length;
    const more = tasks.filter(
      (task) => isSkipped(task) && edges.some(([from, to]) => to === task.key && found.includes(from)),
    );
    found = [...new Set([...found, ...more.map(({ key }) => key)])];
  }
  return found;
}

const isFailing = ({ tasks }: Pick<BatchState, 'tasks'>, only: string): boolean =>
  tasks.some(({ key, status, onFailure }) => key !== only && status === 'FAILED' && onFailure === 'fail');

/** What a batch is after a retry. */
function afterRetry(batch: BatchState, only?: string): Map<string, After> {
  const after = new Map(
    batch.tasks.map(({ key, status, pre, open }): [string, After] => [key, { status, pre, open }]),
  );
  for (const { key, status, pre, open } of reopen(batch, only).tasks) after.set(key, { status, pre, open });
  return after;
}

/** Counts of what has ended mean nothing. */
const meant = (after: ReadonlyMap<string, After>) =>
  Object.fromEntries(
    [...after].map(([key, one]) => [key, one.status === 'READY' ? one : { status: one.status }]),
  );

const RUNS = { numRuns: 3_000 };

describe('reopen, against brute force', () => {
  it('outbox OB-8: a retry of a batch in any state gives every task the state and the counts that its parents imply', () => {
    fc.assert(
      fc.property(someBatch(ANY), (batch) => {
        expect(meant(afterRetry(batch))).toEqual(meant(bruteForce(batch)));
      }),
      RUNS,
    );
  });

  it('outbox OB-8: a retry of one task does the same with what did not run because of it, and with nothing else', () => {
    fc.assert(
      fc.property(someBatch(ANY), fc.nat(), (batch, pick) => {
        const failed = batch.tasks.filter(({ status }) => status === 'FAILED');
        fc.pre(failed.length > 0);
        const { key } = failed[pick % failed.length] as Task;
        expect(meant(afterRetry(batch, key))).toEqual(meant(bruteForce(batch, key)));
        expect(reopen(batch, key).failing).toBe(isFailing(batch, key));
      }),
      RUNS,
    );
  });

  it('outbox OB-8: it changes no task that is done, runs, or was skipped by its own condition, and names each task once', () => {
    fc.assert(
      fc.property(someBatch(ANY), (batch) => {
        const { tasks, failing } = reopen(batch);
        const kept = batch.tasks.filter(
          ({ status, skippedBy }) =>
            status === 'DONE' ||
            status === 'PROCESSING' ||
            (status === 'SKIPPED' && skippedBy === 'condition'),
        );
        const changed = tasks.map(({ key }) => key);
        expect(kept.filter(({ key }) => changed.includes(key))).toEqual([]);
        expect(new Set(changed).size).toBe(changed.length);
        expect(failing).toBe(false);
      }),
      RUNS,
    );
  });

  it('outbox OB-8: what can run now and could not before is said to be so, and nothing waits for more than is open', () => {
    fc.assert(
      fc.property(someBatch(END), (batch) => {
        for (const { status, pre, open, again, opened } of reopen(batch).tasks) {
          expect(again).toBe(true);
          expect(opened).toBe(status === 'READY' && pre === 0);
          expect(status === 'READY').toBe(open >= pre);
        }
      }),
      RUNS,
    );
  });

  it('outbox OB-8: a second retry finds nothing to do', () => {
    fc.assert(
      fc.property(someBatch(ANY), ({ edges, ...rest }) => {
        const byKey = new Map(rest.tasks.map((task) => [task.key, task]));
        const started = new Set(rest.tasks.filter(hasStarted).map(({ key }) => key));
        // What could start can still, whatever its parents have become since; here they are what made it start.
        const isKept = ([from, to]: readonly [string, string]) =>
          !started.has(to) || byKey.get(from)?.status === 'DONE';
        const needs = new Map([...rest.needs].filter(([key]) => !started.has(key)));
        const batch = { ...rest, edges: edges.filter(isKept), needs };
        const after = afterRetry(batch);
        const changed = new Map(reopen(batch).tasks.map((task) => [task.key, task]));
        const tasks = batch.tasks.map((task) => {
          const { status, pre, open } = after.get(task.key) as After;
          const skippedBy = changed.has(task.key) ? 'cascade' : task.skippedBy;
          return {
            ...task,
            status,
            pre,
            open,
            skippedBy: status === 'SKIPPED' ? skippedBy : undefined,
          } as Task;
        });
        expect(reopen({ ...batch, tasks }).tasks).toEqual([]);
      }),
      RUNS,
    );
  });

  it('outbox OB-8: an all-done join waits for parents that were added to it, whatever its definition needs', () => {
    const state = (key: string, status: OutboxStatus, pre = 0, open = 0): Task => ({
      key,
      status,
      onFailure: 'skip',
      pre,
      open,
    });
    const batch: BatchState = {
      tasks: [state('a', 'DONE'), state('added', 'FAILED'), state('join', 'CANCELLED', 1, 1)],
      edges: [
        ['a', 'added'],
        ['a', 'join'],
        ['added', 'join'],
      ],
      needs: new Map([['join', { successes: 1, ends: true }]]),
    };
    expect(reopen(batch).tasks).toMatchObject([
      { key: 'added', status: 'READY', pre: 0, open: 0, opened: true },
      { key: 'join', status: 'READY', pre: 1, open: 1, opened: false },
    ]);
  });
});
