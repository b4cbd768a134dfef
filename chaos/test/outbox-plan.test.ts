import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { expectedOutcome } from '../src/outbox/expected.js';
import { drawPlan, taskName, tasksOf, wanted } from '../src/outbox/plan.js';
import type { Deed } from '../src/outbox/scripts.js';
import { outboxScale } from '../src/outbox/settings.js';

describe('the plan of an outbox scenario', () => {
  const { size } = outboxScale(0.05);

  it('is the same for the same seed, has enough tasks, and every shape, deed and way to push', () => {
    const drawn = drawPlan(seededRng(1), size);
    expect(drawPlan(seededRng(1), size)).toEqual(drawn);
    expect(drawPlan(seededRng(2), size)).not.toEqual(drawn);
    const names = wanted(drawn).flatMap((batch) =>
      tasksOf(drawn, batch).map(({ key }) => taskName(batch.bizKey, key)),
    );
    expect(names.length).toBeGreaterThanOrEqual(size.tasks);
    expect(new Set(names).size).toBe(names.length);
    const shapes = new Set(wanted(drawn).map(({ dag }) => dag.split('-')[0]));
    const plain = ['chain', 'diamond', 'fan', 'growing', 'web', 'wide'];
    expect([...shapes].sort()).toEqual([...plain, 'any', 'choice', 'ended', 'mixed', 'some'].sort());
    expect(new Set(drawn.batches.map(({ push }) => push))).toEqual(
      new Set(['alone', 'with-order', 'rolled-back']),
    );
    const deeds = drawn.batches.flatMap(({ payload }) =>
      Object.values(payload.scripts).map(({ does }) => does),
    );
    const common: Deed[] = ['works', 'fails-first', 'exits-within', 'exits-after'];
    expect(new Set(deeds)).toEqual(new Set([...common, 'fails-at-once', 'fails-always']));
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

  it('shows every feature in the shortest run, whatever is drawn', () => {
    for (let seed = 0; seed < 50; seed++) {
      const drawn = drawPlan(seededRng(seed), size);
      const outcomes = wanted(drawn).map((batch) => {
        const { story = {}, payload } = batch;
        return {
          story,
          ...expectedOutcome(tasksOf(drawn, batch), payload.scripts, story.mends !== undefined),
        };
      });
      const untouched = outcomes.filter(({ story }) => Object.keys(story).length === 0);
      const ends = new Set(untouched.flatMap((outcome) => [...outcome.ends.values()]));
      expect(ends).toEqual(new Set(['DONE', 'FAILED', 'SKIPPED by condition', 'SKIPPED by cascade']));
      expect(untouched.every(({ status }) => status === 'DONE')).toBe(true);
      expect(outcomes.filter(({ story }) => story.mends).every(({ status }) => status === 'DONE')).toBe(true);
      expect(outcomes.some(({ status }) => status === 'FAILED')).toBe(true);
      const stories = outcomes.map(({ story: { fails = false, abortAfterMs, mends } }) =>
        [fails, abortAfterMs !== undefined, mends].join(),
      );
      const all = ['true,false,failing', 'true,false,all', 'true,false,', 'false,true,', 'false,true,all'];
      for (const story of all) expect(stories).toContain(story);
    }
  });
});
