import type { Database } from '@millrace/postgres';
import type { TcpProxy } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineDag, type Outbox, resolveOutboxOptions, task } from '../../src/index.js';
import { Statements } from '../../src/postgres/statements.js';
import { PostgresUpkeepStore } from '../../src/postgres/upkeep-store.js';
import { prunerOf } from '../../src/pruner.js';
import { carries, eventually, type OpenWorld, openWorld } from '../failure/world.js';

const DAY_MS = 86_400_000;
const DAG = defineDag('lossy', { a: task({ run: () => 1 }) });

let world: OpenWorld;
let direct: Outbox;
let proxy: TcpProxy;
let lossy: Database;
beforeAll(async () => {
  world = await openWorld();
  direct = await world.startOutbox({ dags: [DAG], poll: false });
  proxy = await world.startProxy();
  lossy = world.open({ through: proxy });
}, 60_000);
afterAll(() => world?.end());

const rows = async <R extends object>(sql: string, params: readonly (string | Date)[] = []) =>
  (await world.database.query<R>(sql.replaceAll('{schema}', `"${world.schema}"`), params)).rows;

/** Loses one reply to each of these statements, and to the COMMIT that follows the last of them. Gives which are still to be lost. */
function loseReplies(verbs: readonly string[]): Set<string> {
  const left = new Set([...verbs, 'COMMIT']);
  const lastVerb = carries(verbs.at(-1) as string, world.schema);
  const isCommit = carries('COMMIT', world.schema);
  let isNext = false;
  const matches = (verb: string): ((chunk: Buffer) => boolean) => {
    if (verb !== 'COMMIT') return carries(verb, world.schema);
    return (chunk) => {
      if (isNext && isCommit(chunk)) return true;
      isNext ||= lastVerb(chunk);
      return false;
    };
  };
  for (const verb of left) {
    const lose = (): Promise<void> =>
      proxy.cutAfterRequest(matches(verb)).then(
        () => void left.delete(verb),
        () => (left.has(verb) ? lose() : undefined), // The connection had ended by itself.
      );
    void lose();
  }
  return left;
}

describe('outbox: lost replies', () => {
  it('outbox: schedules: a reply that is lost to any statement of a turn costs no period and doubles none', async () => {
    const input = { name: 'lossy', dag: DAG.name, cron: '@daily', catchUp: 'all' } as const;
    await direct.schedules.set({ ...input, paused: true });
    const first = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS);
    const outbox = await world.startOutbox({ dags: [DAG], database: lossy });
    const left = loseReplies([
      'next-schedule',
      'take-schedule',
      'start-batch',
      'postpone-schedule',
      'advance-schedule',
    ]);
    await rows('UPDATE {schema}.outbox_schedule SET next_at = $1, look_at = $1, paused = false', [first]);
    await eventually('every reply to be lost once', async () => {
      await rows('UPDATE {schema}.outbox_schedule SET look_at = next_at WHERE failures > 0');
      await outbox.schedules.resume({ name: 'lossy' }).catch(() => {}); // Looks at once.
      return left.size === 0;
    });
    const isAhead = async () => Number((await direct.schedules.get({ name: 'lossy' })).nextAt) > Date.now();
    await eventually('the schedule to catch up', isAhead);
    await world.settle();
    const { items } = await direct.batches.list();
    expect(items.map(({ bizKey, runNo }) => `${bizKey} ${runNo}`).toSorted()).toEqual(
      [0, 1, 2, 3].map((day) => `lossy@${new Date(first.getTime() + day * DAY_MS).toISOString()} 1`),
    );
    expect(await direct.schedules.get({ name: 'lossy' })).toMatchObject({ failures: 0, error: undefined });
    await direct.schedules.remove({ name: 'lossy' });
    await outbox.stop();
  }, 30_000);

  it('outbox: retention: a reply that is lost to any statement of a step leaves whole batches or none', async () => {
    await rows("UPDATE {schema}.batch_instance SET ended_at = clock_timestamp() - interval '2 days'");
    const young = await direct.pusher.start(DAG.name, 'young');
    await direct.batches.abort(young.id);
    const options = resolveOutboxOptions({
      database: lossy,
      schema: world.schema,
      retentionMs: DAY_MS,
      poll: false,
    });
    const pruner = prunerOf(new PostgresUpkeepStore(lossy, new Statements(world.schema)), options);
    const left = loseReplies(['lock-ended', 'delete-batches']);
    pruner.start();
    await eventually('every reply to be lost once', () => {
      pruner.trigger();
      return left.size === 0;
    });
    const there = () => rows<{ id: string }>('SELECT DISTINCT batch_id::text AS id FROM {schema}.outbox_evt');
    await eventually('the old batches to go', async () => {
      pruner.trigger();
      return (await there()).length === 1;
    });
    await pruner.stop();
    expect(await there()).toEqual([{ id: young.id }]);
    expect((await direct.batches.list()).items.map(({ id }) => id)).toEqual([young.id]);
  }, 30_000);
});
