import { describe, expect, it } from 'vitest';
import { chainDag, type Step, waitsBetween } from '../src/outbox/chain.js';
import { fanInDag } from '../src/outbox/dag-brief.js';
import { wideDag } from '../src/outbox/large.js';

const step = (batch: string, index: number, startedAt: number, endedAt: number): Step => ({
  batch,
  index,
  startedAt,
  endedAt,
});

describe('waitsBetween', () => {
  it('takes the time from the end of a step to the start of the next one, however the reports of processes are mixed', () => {
    const steps = [step('b', 1, 500, 510), step('a', 0, 0, 10), step('a', 2, 90, 95), step('b', 0, 400, 420)];
    expect(waitsBetween([...steps, step('a', 1, 40, 60)])).toEqual([30, 30, 80]);
  });

  it('refuses a chain with a hole: the wait over it would be that of two steps', () => {
    expect(() => waitsBetween([step('a', 0, 0, 1), step('a', 2, 5, 6)])).toThrow(
      "step 1 of 'a' was not reported once",
    );
  });

  it('refuses a step that ran twice', () => {
    expect(() => waitsBetween([step('a', 0, 0, 1), step('a', 0, 5, 6)])).toThrow(
      "step 1 of 'a' was not reported once",
    );
  });
});

describe('chainDag', () => {
  it('makes each step wait for the one before, and reports when it ran', () => {
    const steps: Step[] = [];
    const { tasks } = chainDag({ mode: 'external', length: 3 }, (ran) => steps.push(ran));
    expect(tasks.map(([key, { after }]) => [key, after])).toEqual([
      ['step-0', []],
      ['step-1', ['step-0']],
      ['step-2', ['step-1']],
    ]);
    tasks[2]?.[1].run?.({ batch: { bizKey: 'b' } } as never);
    expect(steps).toEqual([
      { batch: 'b', index: 2, startedAt: expect.any(Number), endedAt: expect.any(Number) },
    ]);
  });
});

describe('wideDag', () => {
  it.each([12, 21, 100, 1_000])(
    'has exactly %i tasks: a root, chains, and one that waits for all of them',
    (size) => {
      const { tasks } = wideDag(size);
      expect(tasks).toHaveLength(size);
      expect(new Set(tasks.map(([key]) => key)).size).toBe(size);
      const followed = new Set(tasks.flatMap(([, { after }]) => after ?? []));
      expect(tasks.filter(([key]) => !followed.has(key)).map(([key]) => key)).toEqual(['sink']);
      expect(tasks.filter(([, { after }]) => after?.length === 0).map(([key]) => key)).toEqual(['root']);
    },
  );
});

describe('fanInDag', () => {
  it('has so many independent tasks, and one more that waits for each of them', () => {
    const { tasks } = fanInDag(100);
    expect(tasks).toHaveLength(101);
    const roots = tasks.filter(([, { after }]) => after?.length === 0).map(([key]) => key);
    expect(roots).toHaveLength(100);
    expect(tasks.find(([key]) => key === 'join')?.[1].after).toEqual(roots);
  });
});
