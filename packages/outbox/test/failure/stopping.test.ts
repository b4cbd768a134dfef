import type { Database, QueryResult } from '@millrace/postgres';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag } from '../../src/define-dag.js';
import { Statements } from '../../src/postgres/statements.js';
import { taskIn } from '../handlers.js';
import { eventually, PATIENCE_MS, type World, withWorld } from './world.js';

/** A Database whose claims that took something are answered when the test says so. */
function slowClaims(world: World) {
  const taken = latch('a claim has taken a task');
  const mayAnswer = latch('the claim may be answered');
  const database = world.open();
  const { sql: claim } = new Statements(world.schema).get('claim-ready');
  const slow: Database = {
    kind: 'postgres',
    poolSize: database.poolSize,
    start: async () => {},
    stop: async () => {},
    query: async <R extends object>(...[sql, ...rest]: Parameters<Database['query']>) => {
      const result: QueryResult<R> = await database.query<R>(sql, ...rest);
      if (sql === claim && result.rowCount > 0) {
        taken.open();
        await mayAnswer.promise;
      }
      return result;
    },
    listen: (channel, handler) => database.listen(channel, handler),
    transaction: (fn, options) => database.transaction(fn, options),
    [Symbol.asyncDispose]: async () => {},
  };
  return { database: slow, taken, mayAnswer };
}

describe('a claim that is under way when the worker stops', () => {
  it.each([
    ['transactional', 'after the stop', 0],
    ['external', 'after the stop', 0],
    ['transactional', 'in the grace period', PATIENCE_MS],
    ['external', 'in the grace period', PATIENCE_MS],
  ] as const)(
    'outbox OB-3: is given back, and no handler is called (%s, answered %s)',
    (mode, _when, gracePeriodMs) =>
      withWorld(async (world) => {
        const { database, taken, mayAnswer } = slowClaims(world);
        let calls = 0;
        const run = () => void calls++;
        const dags = [defineDag('late', { only: taskIn(mode, run) })];
        const outbox = await world.startOutbox({ dags, database, gracePeriodMs });
        const results: string[] = [];
        outbox.events.on('task', ({ result }) => void results.push(result));
        const { id } = await outbox.pusher.start('late', 'k');
        await taken.wait(PATIENCE_MS);
        const stopped = outbox.stop();
        if (gracePeriodMs === 0) await stopped;
        mayAnswer.open();
        await stopped;
        await eventually('the try to end', () => results.length > 0);
        expect({ calls, results }).toEqual({ calls: 0, results: ['returned'] });
        expect(await world.task(id, 'only')).toMatchObject({ status: 'READY', attempts: 0, lost_cnt: 0 });
        await world.startOutbox({ dags });
        await world.settle();
        expect(calls).toBe(1);
      }),
  );
});
