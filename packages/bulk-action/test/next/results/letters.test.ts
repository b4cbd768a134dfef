import { describe, expect, it } from 'vitest';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import { newJob } from '../engine/store.js';
import { type Held, OPEN, positionAt } from '../groups/stage.js';
import { DEAD, ResultsStage, SUCCESS } from './results-stage.js';

const SEALED = { isSealed: true };
const RETRY: AttemptOutcome = { kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 5, spendsRetry: true };

function stage(...args: ConstructorParameters<typeof ResultsStage>): ResultsStage {
  const made = new ResultsStage(...args);
  made.instance('a', 4);
  return made;
}

describe('a dead letter', () => {
  it('has the body of the job, its cause and its counts', () => {
    const world = stage();
    world.submit('x/g', [{ id: 'j', cost: 2, payload: '{"to":1}' }, {}], SEALED);
    world.run();
    world.endNext(RETRY);
    world.run(10);
    world.end(world.held.at(-1) as Held, DEAD);
    expect(world.side.values('letter')).toEqual([
      {
        facts: expect.objectContaining({
          jobId: 'j',
          type: 'T',
          cost: 2,
          attempts: 2,
          retryCount: 1,
          code: 'E_DOWN',
          message: 'Service 17 is down',
          signature: 'T E_DOWN Service # is down',
          failedMs: world.nowMs,
          round: 1,
          countedAs: 'failed',
        }),
        payload: '{"to":1}',
      },
    ]);
    expect(world.events('job.dead')).toMatchObject([{ groupId: 'x/g', jobId: 'j' }]);
    expect(world.group('x/g').kept?.letters).toBe(1);
    expect(world.engine.state.shard.letters).toBe(1);
  });

  it('is written for a job that was started by another owner, once its chunk is loaded', () => {
    const world = stage();
    world.submit('x/g', [{ payload: '"kept"' }, {}], SEALED);
    const [job] = world.run() as [Held];
    world.takeOver();
    const { instanceId, groupId, position, attempt } = job;
    const settlement = { groupId, position, attempt, durationMs: 1, outcome: DEAD };
    world.receive({ kind: 'settled', instanceId, settlements: [settlement] });
    expect(world.group('x/g').failed).toBe(0);
    world.run();
    expect(world.group('x/g').failed).toBe(1);
    expect(world.side.values('letter')).toMatchObject([{ facts: { jobId: '_1' }, payload: '"kept"' }]);
  });

  it('is written for a job that kills each of its instances', () => {
    const world = stage({ reliableQueue: { maxOrphanCount: 1 } });
    world.submit('x/g', 1, SEALED);
    world.run();
    for (const id of ['a', 'b']) {
      world.instance('b', 1);
      world.run();
      world.engine.buried([id], world.nowUs);
      world.run(100_000);
    }
    expect(world.side.facts('letter')).toMatchObject([{ code: 'ORPHANED', orphanCount: 1, attempts: 2 }]);
    expect(world.side.facts('attempt').map(({ code }) => code)).toEqual(['ORPHANED', 'ORPHANED']);
    expect(world.group('x/g').status).toBe('COMPLETED');
  });

  it('makes the oldest go when there are too many, and is counted until the journal says that it is gone', () => {
    const world = stage({}, '', { deadLettersMax: 2 });
    world.submit('x/g', 3, SEALED);
    world.run();
    for (let job = 0; job < 3; job++) world.endNext(DEAD);
    expect(world.side.all('letters-max')).toMatchObject([{ keep: 2, excess: 1 }]);
    expect(world.group('x/g').kept?.letters).toBe(3);
    world.receive({
      kind: 'letters-deleted',
      letters: [
        { groupId: 'x/g', count: 1 },
        { groupId: 'gone', count: 1 },
      ],
    });
    world.run();
    expect([world.group('x/g').kept?.letters, world.engine.state.shard.letters]).toEqual([2, 1]);
    world.takeOver();
  });
});

describe('redriving', () => {
  it('queues a job again in a round that goes on: it is not failed any more, and its counts begin anew', () => {
    const world = stage();
    world.submit('x/g', [{ id: 'j' }, {}], SEALED);
    world.run();
    world.endNext(RETRY);
    world.run(10);
    world.end(world.held.at(-1) as Held, DEAD);
    const group = world.group('x/g');
    expect([group.failed, group.codes?.get('E_DOWN'), world.side.facts('detail').length]).toEqual([1, 1, 1]);
    expect(world.redrive()).toEqual({ moved: 1, refused: [], more: false });
    expect([group.failed, group.codes, group.registered, group.round]).toEqual([0, undefined, 2, 1]);
    expect(world.side.facts('detail')).toEqual([]);
    expect(world.side.all('letter')).toEqual([]);
    const again = world.held.at(-1);
    expect(again).toMatchObject({ attempt: 1, body: newJob({ id: 'j' }) });
    expect(world.side.all('id')).toMatchObject([{ id: 'j', position: again?.position }]);
    expect(again?.position).toBeGreaterThan(positionAt(1));
    world.takeOver();
    while (world.held.length > 0) world.endNext();
    expect(world.side.facts('round')).toMatchObject([{ round: 1, total: 2, success: 2, failed: 0 }]);
    expect(world.group('x/g').kept?.letters).toBe(0);
  });

  it('opens one more round of an ended group for all letters, whose earlier result stays', () => {
    const world = stage();
    world.submit('x/g', 3, SEALED);
    world.run();
    world.endNext(DEAD);
    world.endNext({ ...DEAD, code: 'E_2' });
    world.endNext();
    expect(world.group('x/g').status).toBe('COMPLETED');
    expect(world.redrive()).toMatchObject({ moved: 2 });
    expect([world.group('x/g').status, world.group('x/g').round]).toEqual(['RUNNING', 2]);
    expect(world.held.map(({ body }) => body.id)).toEqual(['_1', '_2']);
    expect(world.side.all('id').map(({ id }) => id)).toEqual(['_1', '_2']);
    world.takeOver();
    world.endNext();
    world.endNext(DEAD);
    expect(world.side.facts('round')).toMatchObject([
      { round: 1, total: 3, success: 1, failed: 2, failedByCode: { E_DOWN: 1, E_2: 1 } },
      { round: 2, total: 3, success: 2, failed: 1, failedByCode: { E_DOWN: 1 } },
    ]);
    const details = world.side.all('detail').map(({ from, to }) => [from, to]);
    expect(details).toEqual([
      [1, 1],
      [1, 1],
      [2, undefined],
    ]);
    expect(world.side.facts('letter')).toMatchObject([{ jobId: '_2', attempts: 1, round: 2 }]);
  });

  it('opens a round of its own in an open group', () => {
    const world = stage();
    world.submit('x/open', 2, OPEN);
    world.run();
    world.endNext(DEAD);
    world.endNext();
    world.run(2_000);
    expect(world.group('x/open').status).toBe('COMPLETED');
    world.redrive();
    expect(world.group('x/open')).toMatchObject({ round: 2, registered: 1, failed: 0, status: 'RUNNING' });
    world.endNext();
    world.run(2_000);
    expect(world.side.facts('round')[1]).toMatchObject({ round: 2, total: 1, success: 1 });
    world.takeOver();
  });

  it('refuses letters whose deadline has passed, unless the call has a new one or ignores it', () => {
    const world = stage();
    const deadlineMs = world.nowMs + 1_000;
    for (const id of ['x/g', 'x/h']) world.submit(id, 2, { ...SEALED, settings: { deadlineMs } });
    world.run();
    while (world.held.length > 0) world.endNext(DEAD);
    world.run(2_000);
    expect(world.redrive()).toEqual({
      moved: 0,
      refused: ['x/g', 'x/h'].map((groupId) => ({ groupId, code: 'DEADLINE_EXCEEDED', letters: 2 })),
      more: false,
    });
    expect(world.redrive({ deadlineMs: world.nowMs })).toMatchObject({ moved: 0 });
    expect(world.side.all('letter')).toHaveLength(4);
    const ofG = world.store.letters(9, (_, groupId) => groupId === 'x/g');
    expect(world.redrive({ letters: ofG, deadlineMs: world.nowMs + 500 })).toMatchObject({ moved: 2 });
    expect(world.group('x/g').deadlineMs).toBe(world.nowMs + 500);
    expect(world.redrive({ ignoresDeadline: true })).toMatchObject({ moved: 2 });
    expect(world.group('x/h').deadlineMs).toBeUndefined();
    expect(world.held).toHaveLength(4);
  });

  it.each(['before it starts', 'with its round'])('makes a letter again of a job that expires %s', (how) => {
    const world = stage();
    const deadlineMs = world.nowMs + 1_000;
    const job = how === 'with its round' ? {} : { deadlineMs };
    world.submit('x/g', [job, job], {
      ...SEALED,
      ...(how === 'with its round' && { settings: { deadlineMs } }),
    });
    world.run();
    world.endNext(DEAD);
    world.endNext(DEAD);
    world.instance('a', 0);
    expect(world.redrive()).toMatchObject({ moved: 2 });
    expect(world.side.all('letter')).toEqual([]);
    if (how !== 'with its round') world.instance('a', 1);
    world.takeOver();
    world.run(2_000);
    expect(world.side.facts('letter')).toMatchObject([
      { jobId: '_1', code: 'DEADLINE_EXCEEDED' },
      { jobId: '_2', code: 'DEADLINE_EXCEEDED' },
    ]);
    expect(world.group('x/g').kept?.letters).toBe(2);
    world.takeOver();
    world.instance('a', 4);
    expect(world.redrive({ deadlineMs: world.nowMs + 60_000 })).toMatchObject({ moved: 2 });
    while (world.held.length > 0) world.endNext();
    expect(world.side.facts('round').at(-1)).toMatchObject({ total: 2, success: 2, failed: 0, cancelled: 0 });
  });

  it('gives one job another payload', () => {
    const world = stage();
    world.submit('x/g', [{ payload: '1' }], SEALED);
    world.run();
    world.endNext(DEAD);
    world.redrive({ payload: '2' });
    expect(world.held[0]?.body.payload).toBe('2');
  });

  it('takes at most 500 letters or 1 MiB a step, and none of them twice', () => {
    const world = stage();
    world.instance('a', 2_000);
    world.submit('x/g', 600, SEALED);
    world.submit(
      'x/h',
      Array.from({ length: 5 }, () => ({ payload: `"${'x'.repeat(400_000)}"` })),
      SEALED,
    );
    world.run();
    const settlements = world.held.map(({ groupId, position, attempt }) => ({
      ...{ groupId, position, attempt },
      durationMs: 1,
      outcome: DEAD,
    }));
    world.held = [];
    world.receive({ kind: 'settled', instanceId: 'a', settlements });
    world.run();
    const letters = world.store.letters(1_000).sort((a, b) => (a.groupId < b.groupId ? -1 : 1));
    expect(letters).toHaveLength(605);
    expect(world.redrive({ letters })).toEqual({ moved: 500, refused: [], more: true });
    expect(world.redrive({ letters: letters.slice(0, 300), hasMore: true })).toEqual({
      moved: 0,
      refused: [],
      more: true,
    });
    expect(world.redrive({ letters: letters.slice(500) })).toEqual({ moved: 102, refused: [], more: true });
    expect(world.side.all('letter')).toHaveLength(3);
    expect(world.held).toHaveLength(602);
    expect(new Set(world.held.map(({ groupId, position }) => `${groupId} ${position}`)).size).toBe(602);
    expect(world.endNext(SUCCESS)).toBe(true);
  });
});
