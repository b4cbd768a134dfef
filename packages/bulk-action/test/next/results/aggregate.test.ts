import { describe, expect, it } from 'vitest';
import { AGGREGATION_POSITION } from '../../../src/next/engine/state/position.js';
import { OPEN, positionAt } from '../groups/stage.js';
import { DEAD, ResultsStage } from './results-stage.js';

const SEALED = { isSealed: true };
const AGGREGATED = { aggregator: 'T' };
const FAILED = { kind: 'failure', code: 'E', message: 'cannot add up' } as const;

/** A group of two jobs that are done, the first of them failed. */
function aggregating(config?: ConstructorParameters<typeof ResultsStage>[0]): ResultsStage {
  const world = new ResultsStage(config);
  world.instance('a', 4);
  world.submit('x/g', 2, SEALED);
  world.run();
  world.endNext(DEAD);
  world.endNext({ kind: 'success', data: '5' }, AGGREGATED);
  return world;
}

const aggregators = (world: ResultsStage, id: string, ...types: string[]): void => {
  world.receive({ kind: 'instance', id, slots: 0, types: [], aggregators: types });
  world.run();
};

describe('aggregation', () => {
  it('waits for an instance that has all aggregators of the group, then ends the round with the data', () => {
    const world = aggregating();
    expect(world.group('x/g').status).toBe('AGGREGATING');
    expect(world.side.values('result')).toMatchObject([{ facts: { jobId: '_2' }, data: '5' }]);
    aggregators(world, 'other', 'U');
    world.takeOver();
    aggregators(world, 'other', 'U');
    expect(world.aggregations('other')).toEqual([]);
    aggregators(world, 'c', 'T', 'U');
    expect(world.aggregations('c')).toEqual([
      {
        kind: 'aggregate',
        groupId: 'x/g',
        round: 1,
        attempt: 1,
        types: ['T'],
        resultsFrom: 0,
        resultsTo: 1,
        total: 2,
        success: 1,
        failed: 1,
        startedMs: world.nowMs,
        doneMs: world.nowMs,
      },
    ]);
    expect(world.side.all('round')).toEqual([]);
    expect(world.endAggregation('c', { kind: 'success', data: '{"sum":5}' })).toBe(true);
    expect(world.endAggregation('c', { kind: 'success', data: '{"sum":6}' })).toBe(false);
    expect(world.group('x/g').status).toBe('COMPLETED');
    expect(world.side.values('round')).toMatchObject([{ facts: { total: 2 }, data: '{"sum":5}' }]);
    world.takeOver();
  });

  it('is tried three times, and is settled only by the attempt that runs', () => {
    const world = aggregating();
    aggregators(world, 'c', 'T');
    world.endAggregation('c', FAILED);
    expect(world.aggregations('c')).toHaveLength(1);
    expect(world.engine.wakeUs).toBe(world.nowUs + 1_000_000);
    world.run(1_000);
    expect(world.aggregations('c').map(({ attempt }) => attempt)).toEqual([1, 2]);
    const first = { groupId: 'x/g', position: AGGREGATION_POSITION, attempt: 1, durationMs: 9 };
    expect(world.engine.settle('c', { ...first, outcome: { kind: 'success' } }, world.nowUs)).toBe(false);
    world.takeOver();
    aggregators(world, 'd', 'T');
    world.engine.buried(['c'], world.nowUs);
    expect(world.endAggregation('c', { kind: 'success' })).toBe(false);
    world.run(2_000);
    expect(world.aggregations('d').map(({ attempt }) => attempt)).toEqual([3]);
    world.endAggregation('d', FAILED);
    expect(world.group('x/g')).toMatchObject({ status: 'FAILED', code: 'AGGREGATION_FAILED' });
    expect(world.side.facts('round')).toMatchObject([
      { code: 'AGGREGATION_FAILED', message: 'cannot add up', success: 1, failed: 1, cancelled: 0 },
    ]);
  });

  it('given back by a shutdown goes to another instance and counts no failure', () => {
    const world = aggregating();
    aggregators(world, 'c', 'T');
    for (let time = 0; time < 4; time++) world.endAggregation('c', { kind: 'returned' });
    expect(world.aggregations('c').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(world.endAggregation('c', { kind: 'success' })).toBe(true);
  });

  it('is delivered again to an instance that greets without it', () => {
    const world = aggregating();
    aggregators(world, 'c', 'T');
    world.takeOver();
    const greeting = { kind: 'greeting', id: 'c', slots: 0, types: [], aggregators: ['T'] } as const;
    world.receive({ ...greeting, jobs: [] });
    world.run();
    expect(world.aggregations('c').map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(world.endAggregation('c', { kind: 'success' })).toBe(true);
  });

  it('starts anew when a job of the round is redriven or a job is added', () => {
    const world = aggregating();
    aggregators(world, 'c', 'T');
    world.redrive();
    expect(world.group('x/g')).toMatchObject({ status: 'RUNNING', round: 1, failed: 0 });
    expect(world.endAggregation('c', { kind: 'success' })).toBe(false);
    world.endNext({ kind: 'success', data: '7' }, AGGREGATED);
    expect(world.aggregations('c').at(-1)).toMatchObject({ attempt: 2, resultsTo: 2, success: 2 });
    world.endAggregation('c', { kind: 'success' });
    world.submit('x/open', 1, OPEN);
    world.run();
    world.endNext(undefined, AGGREGATED);
    world.run(1_500);
    expect(world.group('x/open').status).toBe('AGGREGATING');
    world.submit('x/open', 1, OPEN);
    world.run();
    expect(world.group('x/open')).toMatchObject({ status: 'RUNNING', round: 1, registered: 2 });
  });

  it('reads only the results of its round in an open group', () => {
    const world = new ResultsStage();
    world.instance('a', 4);
    aggregators(world, 'c', 'T');
    for (let round = 1; round <= 2; round++) {
      world.submit('x/open', 1, OPEN);
      world.run();
      world.endNext({ kind: 'success', data: String(round), numbers: { n: round } }, AGGREGATED);
      world.run(1_500);
      world.endAggregation('c', { kind: 'success', data: `"${round}"` });
    }
    expect(world.aggregations('c').map(({ resultsFrom, resultsTo }) => [resultsFrom, resultsTo])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(world.side.facts('round').map(({ numbers }) => numbers?.n?.sum)).toEqual([1, 2]);
    expect(world.side.facts('result')[1]?.position).toBe(positionAt(64));
  });

  it('is not begun while the group is paused, and ends with a cancel', () => {
    const world = aggregating();
    world.ask({ kind: 'pause-group', groupId: 'x/g', isPaused: true });
    aggregators(world, 'c', 'T');
    expect(world.aggregations('c')).toEqual([]);
    world.ask({ kind: 'pause-group', groupId: 'x/g', isPaused: false });
    expect(world.aggregations('c')).toHaveLength(1);
    world.ask({ kind: 'cancel-group', groupId: 'x/g' });
    expect(world.endAggregation('c', { kind: 'success' })).toBe(false);
    expect(world.group('x/g')).toMatchObject({ status: 'CANCELLED', success: 1, failed: 1, cancelled: 0 });
  });
});
