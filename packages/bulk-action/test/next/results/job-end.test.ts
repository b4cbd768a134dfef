import { describe, expect, it } from 'vitest';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import { type Held, positionAt } from '../groups/stage.js';
import { ResultsStage, SUCCESS } from './results-stage.js';

const SEALED = { isSealed: true };
const FAILURE: AttemptOutcome = { kind: 'failure', code: 'E_BAD', message: 'bad', errorClass: 'TypeError' };

function stage(...args: ConstructorParameters<typeof ResultsStage>): ResultsStage {
  const made = new ResultsStage(...args);
  made.instance('a', 4);
  return made;
}

describe('results', () => {
  it('are stored in the order of settlement, with ids and without those that are not asked for', () => {
    const world = stage({ keepResults: true });
    world.submit('x/g', [{ id: 'one' }, {}, {}], SEALED);
    const [first, second, third] = world.run() as [Held, Held, Held];
    world.end(third, { kind: 'success', data: '3' });
    world.end(first, { kind: 'success', data: '{"a":1}' });
    world.end(second);
    expect(world.side.all('result').map(({ number, round }) => [number, round])).toEqual([
      [0, 1],
      [1, 1],
    ]);
    expect(world.side.values('result')).toMatchObject([
      { facts: { jobId: '_3', position: positionAt(2), type: 'T' }, data: '3' },
      { facts: { jobId: 'one' }, data: '{"a":1}' },
    ]);
    const other = stage();
    other.submit('x/g', 1, SEALED);
    other.run();
    other.endNext({ kind: 'success', data: '1' });
    expect(other.side.all('result')).toEqual([]);
  });

  it('are dropped with the reason when they or those of their group are too large', () => {
    const limits = { resultBytesMax: 10, groupResultBytesMax: 15 };
    const world = stage({ keepResults: true, limits });
    world.submit('x/g', 3, SEALED);
    world.run();
    for (const data of ['"too long for this"', '"8 bytes"', '"8 bytes"'])
      world.endNext({ kind: 'success', data });
    expect(world.side.values('result').map(({ facts, data }) => [facts.dropped, data])).toEqual([
      ['RESULT_TOO_LARGE', undefined],
      [undefined, '"8 bytes"'],
      ['GROUP_RESULTS_FULL', undefined],
    ]);
    expect(world.side.facts('round')[0]).toMatchObject({ resultsDropped: 2 });
  });

  it('give numbers that are summed by name, and go on after a takeover', () => {
    const world = stage();
    world.submit('x/g', 3, SEALED);
    world.run();
    world.endNext({ kind: 'success', numbers: { bytes: 5, 'not a name': 1, nan: Number.NaN } });
    world.takeOver();
    world.endNext({ kind: 'success', numbers: { bytes: -0.5 } });
    world.endNext();
    expect(world.side.facts('round')[0]?.numbers).toEqual({
      bytes: { count: 2, sum: 4.5, min: -0.5, max: 5 },
    });
  });
});

describe('a round', () => {
  it('leaves its result, and the first failed jobs beside it', () => {
    const world = stage({ aggregator: { failedDetailsMaxCount: 1 } });
    world.submit('x/g', [{ id: 'j' }, {}, {}], SEALED);
    world.run();
    world.endNext(FAILURE);
    world.endNext({ ...FAILURE, code: 'E_OTHER' });
    world.endNext(SUCCESS, { durationMs: 40 });
    expect(world.side.facts('round')).toEqual([
      expect.objectContaining({
        groupId: 'x/g',
        tenant: 'x',
        round: 1,
        status: 'COMPLETED',
        total: 3,
        success: 1,
        failed: 2,
        averageDurationMs: 20,
        failedByCode: { E_BAD: 1, E_OTHER: 1 },
      }),
    ]);
    expect(world.side.facts('detail')).toEqual([{ jobId: 'j', code: 'E_BAD', message: 'bad' }]);
    expect(world.side.all('detail')[0]).toMatchObject({ from: 1, to: undefined });
  });

  it('of an open group goes after ten more', () => {
    const world = stage();
    for (let round = 1; round <= 12; round++) {
      world.submit('x/open', 1, { settings: { isSealable: false } });
      world.run();
      world.endNext(FAILURE);
      world.run(1_500);
    }
    const rounds = world.side.all('round');
    expect(rounds.map(({ round, keepFrom }) => [round, keepFrom]).slice(-2)).toEqual([
      [11, 2],
      [12, 3],
    ]);
    expect(world.side.facts('round').every(({ total }) => total === 1)).toBe(true);
    expect(world.side.all('detail').map(({ from, to }) => [from, to])).toEqual(
      Array.from({ length: 12 }, (_, at) => [at + 1, at + 1]),
    );
  });
});

describe('attempts', () => {
  it('are kept of the last five of a job, with what held each and why it failed', () => {
    const world = stage({ workerPool: { maxRetryCount: 9 } });
    world.submit('x/g', 1, SEALED);
    world.run();
    for (let attempt = 1; attempt <= 6; attempt++) {
      world.endNext({
        kind: 'retry',
        reason: 'TRANSIENT_ERROR',
        delayMs: 100 * attempt,
        spendsRetry: true,
        code: `E${attempt}`,
        message: 'm'.repeat(2_000),
      });
      world.run(1_000);
    }
    world.endNext();
    const kept = world.side.facts('attempt').sort((a, b) => a.attempt - b.attempt);
    expect(kept.map(({ attempt, code }) => [attempt, code])).toEqual([
      [3, 'E3'],
      [4, 'E4'],
      [5, 'E5'],
      [6, 'E6'],
      [7, undefined],
    ]);
    expect(kept[0]).toMatchObject({ gate: 'BACK_OFF', gateMs: 200, durationMs: 10, instanceId: 'a' });
    expect(kept[0]?.message).toBe('m'.repeat(500));
    expect(
      kept.every(
        ({ readyMs = 0, startedMs, endedMs }) => 0 < readyMs && readyMs <= startedMs && startedMs <= endedMs,
      ),
    ).toBe(true);
  });

  it('take at most their bytes, and a success at the first attempt takes none', () => {
    const world = stage({}, '', { attemptBytesMax: 1_500 });
    world.submit('x/g', 2, SEALED);
    world.run();
    world.endNext();
    world.endNext({ ...FAILURE, message: '€"'.repeat(400) });
    const [attempt, ...others] = world.side.all('attempt');
    expect(others).toEqual([]);
    expect(attempt?.bytes.length).toBeLessThanOrEqual(300);
    expect(world.side.facts('attempt')[0]?.message).toMatch(/^€"/);
  });
});

describe('compact lines', () => {
  it('are written when the last job of a chunk ends', () => {
    const world = stage();
    world.submit('x/g', [{ id: 'a' }, {}, { id: 'c' }], SEALED);
    world.run();
    world.endNext(FAILURE, { durationMs: 7 });
    world.endNext({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: 5, spendsRetry: true });
    world.endNext();
    expect(world.side.lines()).toEqual([]);
    world.run(10);
    world.endNext(SUCCESS, { durationMs: 2.5 });
    const endedMs = world.nowMs - 10;
    expect(world.side.lines()).toEqual([
      [
        { id: 'a', outcome: 'FAILED', facts: { attempts: 1, durationMs: 7, endedMs, code: 'E_BAD' } },
        {
          id: '',
          outcome: 'COMPLETED',
          facts: { attempts: 2, durationMs: 2.5, endedMs: world.nowMs, code: undefined },
        },
        { id: 'c', outcome: 'COMPLETED', facts: { attempts: 1, durationMs: 10, endedMs, code: undefined } },
      ],
    ]);
  });
});

describe('recent jobs', () => {
  it('are kept up to a number in each second, cut to their size, and without texts if private', () => {
    const world = stage({}, '', { recentPerSecond: 2, recentMax: 7 });
    world.submit('x/g', [{ payload: `"${'€'.repeat(4_000)}"` }, { id: 'p' }, {}, {}], SEALED);
    world.run();
    world.endNext({ kind: 'success', data: '1' });
    world.endNext({ kind: 'success', data: '2' }, { isPrivate: true });
    world.endNext();
    world.run(1_000);
    world.endNext(FAILURE);
    const [long, secret, later, ...others] = world.side.values('recent');
    expect(long).toMatchObject({ facts: { jobId: '_1', payloadBytes: 12_002 }, data: '1' });
    expect(Buffer.byteLength(long?.payload ?? '')).toBeLessThanOrEqual(8_192);
    expect(secret).toMatchObject({ facts: { jobId: 'p' }, payload: undefined, data: undefined });
    expect(later).toMatchObject({ facts: { jobId: '_4', outcome: 'FAILED', code: 'E_BAD' }, payload: '{}' });
    expect(others).toEqual([]);
    expect(world.side.all('recent').every(({ keep }) => keep === 7)).toBe(true);
  });
});

describe('events', () => {
  it('say that a group has started, moves on, at most once a second, and has ended', () => {
    const world = stage();
    world.instance('a', 20);
    world.submit('x/g', 12, SEALED);
    world.run();
    expect(world.events('group.started')).toMatchObject([{ groupId: 'x/g', tenant: 'x', round: 1 }]);
    for (let job = 0; job < 10; job++) {
      world.run(250);
      world.endNext();
    }
    expect(world.events('group.progress').length).toBeGreaterThanOrEqual(2);
    expect(world.events('group.progress').length).toBeLessThanOrEqual(4);
    while (world.held.length > 0) world.endNext();
    expect(world.events('group.completed')).toMatchObject([{ status: 'COMPLETED' }]);
  });
});

describe('the side writes of a commit', () => {
  it('take at most 4 MiB: settlements wait for the next commit and are not consumed before', () => {
    const world = stage({
      keepResults: true,
      limits: { resultBytesMax: 2 ** 20, groupResultBytesMax: 2 ** 30 },
    });
    world.instance('a', 20);
    world.submit('x/g', 20, SEALED);
    const settlements = world.run().map(({ groupId, position, attempt }) => ({
      groupId,
      position,
      attempt,
      durationMs: 1,
      outcome: { kind: 'success', data: `"${'x'.repeat(500_000)}"` } as const,
    }));
    const { engine, nowUs } = world;
    const before = 3;
    engine.receive(
      [
        { kind: 'settled', instanceId: 'a', settlements },
        { kind: 'instance', id: 'z', slots: 1, types: [] },
      ],
      nowUs,
    );
    let commits = 0;
    for (let commit = engine.commit(nowUs); commit; commit = engine.commit(nowUs)) {
      commits += 1;
      const bytes = commit.writes.reduce(
        (sum, write) => sum + ('bytes' in write ? write.bytes.length : 0),
        0,
      );
      expect(bytes).toBeLessThanOrEqual(4 * 2 ** 20);
      expect(commit.hasMore).toBe(world.group('x/g').success < 20);
      expect(commit.consumed - before).toBe(commit.hasMore ? 0 : 2);
      world.store.write(commit, engine, nowUs);
    }
    expect(commits).toBeGreaterThanOrEqual(3);
    expect(world.side.all('result')).toHaveLength(20);
  });
});
