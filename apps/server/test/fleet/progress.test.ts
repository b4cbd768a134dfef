import { BulkActionEngine, type GroupView } from '@millrace/bulk-action';
import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { ManualClock, type PostgresSandbox } from '@millrace/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServerConfig } from '../../src/config/model.js';
import { DatabaseTime } from '../../src/fleet/database-time.js';
import { InstanceStore } from '../../src/fleet/instance-store.js';
import { ProgressRecorder } from '../../src/fleet/progress-recorder.js';
import { POINTS_MAX, PROGRESS_SLOT_MS, ProgressStore } from '../../src/fleet/progress-store.js';
import { ServerTables } from '../../src/fleet/server-tables.js';
import { migratedSandbox } from '../serve.js';

const GROUP = { id: 'g', createdAt: 1_000 };

/** A group of 1,000 jobs with so many done. */
const group = (done: number, more: Partial<GroupView> = {}): GroupView =>
  ({
    ...GROUP,
    counts: { registered: 1_000, success: done, failed: 0, cancelled: 0, pending: 0, inFlight: 1 },
    ...more,
  }) as GroupView;

describe('what is written down of the progress of groups', () => {
  let sandbox: PostgresSandbox;
  let database: PgDatabase;
  let store: ProgressStore;
  let instances: InstanceStore;
  let clock: ManualClock;
  beforeAll(async () => {
    sandbox = await migratedSandbox();
    database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
    const tables = new ServerTables({ database, config: ServerConfig.parse({}) });
    store = new ProgressStore(tables);
    instances = new InstanceStore(tables);
  });
  beforeEach(async () => {
    clock = new ManualClock();
    await database.query('TRUNCATE millrace.server_progress, millrace.server_instance');
  });
  afterAll(async () => {
    await database.stop();
    await sandbox.drop();
  });

  const done = async (of: Pick<GroupView, 'id' | 'createdAt'> = GROUP) =>
    (await store.read(of)).map((point) => point.done);

  it('a point for each slot in which something changed, each once', async () => {
    const at = 50 * PROGRESS_SLOT_MS;
    expect(await store.write(at, [group(1), group(5, { id: 'a/other' })])).toHaveLength(2);
    // Another instance, in the same slot; and a look that finds everything as it was.
    expect(await store.write(at + PROGRESS_SLOT_MS - 1, [group(2)])).toEqual([]);
    expect(await store.write(at + PROGRESS_SLOT_MS, [group(1), group(5, { id: 'a/other' })])).toEqual([]);
    expect(await store.write(at + 3 * PROGRESS_SLOT_MS, [group(4), group(5, { id: 'a/other' })])).toEqual([
      'g',
    ]);
    expect(await store.read(GROUP)).toEqual([
      { at, done: 1, success: 1, failed: 0, inFlight: 1, registered: 1_000 },
      { at: at + 3 * PROGRESS_SLOT_MS, done: 4, success: 4, failed: 0, inFlight: 1, registered: 1_000 },
    ]);
    expect(await done({ id: 'a/other', createdAt: 1_000 })).toEqual([5]);
    expect(await done({ id: 'none', createdAt: 1_000 })).toEqual([]);
  });

  it('many at once by two who write the same', async () => {
    const many = Array.from({ length: 100 }, (_, n) => group(n, { id: `g${n}` }));
    const both = await Promise.all([store.write(1e6, many), store.write(1e6, [...many].reverse())]);
    expect(both.flat().sort()).toEqual(many.map(({ id }) => id).sort());
    expect(await done({ ...GROUP, id: 'g42' })).toEqual([42]);
  });

  it('a long life takes no more room: half of the points go, the first stays, and later ones are further apart', async () => {
    const write = (slot: number) => store.write(slot * PROGRESS_SLOT_MS, [group(slot)]);
    for (let slot = 1; slot <= POINTS_MAX; slot++) await write(slot);
    expect(await store.read(GROUP)).toHaveLength(POINTS_MAX);
    await write(POINTS_MAX + 1);
    const kept = await done();
    expect(kept).toHaveLength(POINTS_MAX / 2 + 1);
    expect(kept.slice(0, 3)).toEqual([1, 3, 5]);
    expect(kept.at(-1)).toBe(POINTS_MAX + 1);
    expect(await write(POINTS_MAX + 2)).toEqual([]);
    expect(await write(POINTS_MAX + 3)).toEqual(['g']);
  });

  it('another group of the same id begins anew', async () => {
    await store.write(1e6, [group(7)]);
    const again = group(1, { createdAt: 2_000 });
    expect(await done(again)).toEqual([]);
    await store.write(1e6, [again]);
    expect(await done(again)).toEqual([1]);
    expect(await done()).toEqual([]);
  });

  it('goes a day after its last point', async () => {
    const now = Date.now();
    await store.write(now - 90_000_000, [group(1, { id: 'old' }), group(1, { id: 'older' }), group(1)]);
    await store.write(now, [group(2)]);
    expect(await store.prune(1)).toBe(1);
    expect(await store.prune(10)).toBe(1);
    expect(await store.prune(10)).toBe(0);
    expect(await done()).toEqual([1, 2]);
  });

  it('of too many the oldest go', async () => {
    const insert = (count: number, slotsAgo: number) =>
      database.query(
        `INSERT INTO millrace.server_progress (group_id, began, slot, counts, points)
         SELECT $2::integer || ' ' || n, 0, extract(epoch FROM clock_timestamp())::bigint / 10 - $2::integer, '[]', '[]'
         FROM generate_series(1, $1::integer) n`,
        [count, slotsAgo],
      );
    await insert(20_000, 1);
    expect(await store.prune(10)).toBe(0);
    await insert(5, 2);
    expect(await store.prune(10)).toBe(5);
    expect(await store.prune(10)).toBe(0);
  });

  /** A recorder of an instance that sees these groups. */
  function recorder(instanceId: string, groups: { now: readonly GroupView[] }, redisUrl?: string) {
    const config = { ...ServerConfig.parse({}), redisUrl };
    const parts = { clock, log: silentLogger, config, instanceId };
    let sent = 0;
    const bulk = { listActiveGroups: async () => groups.now };
    const write: ProgressStore['write'] = (at, changed) => {
      sent += changed.length;
      return store.write(at, changed);
    };
    const made = new ProgressRecorder(parts, bulk, { write }, instances, new DatabaseTime(parts));
    return { look: () => made.look(), sent: () => sent };
  }

  it('what stands still is not sent; what came too soon is sent again', async () => {
    const groups = { now: [group(1)] };
    const { look, sent } = recorder('a', groups);
    await look();
    await look();
    expect(sent()).toBe(1);
    groups.now = [group(2)];
    await look();
    await clock.advance(PROGRESS_SLOT_MS);
    await look();
    await look();
    expect(sent()).toBe(3);
    expect(await done()).toEqual([1, 2]);
    groups.now = [];
    await look();
    expect(sent()).toBe(3);
  });

  it('what the engine counts is what is shown', async () => {
    const { service } = new BulkActionEngine({ clock });
    await service.submitBulk({ id: 'big', tenant: 'acme' }, [
      { id: 'j1', processorType: 'work', payload: null },
      { id: 'j2', processorType: 'work', payload: null },
    ]);
    await service.submitBulk({ id: 'over' }, [{ id: 'j', processorType: 'work', payload: null }]);
    await service.cancelGroup('over');
    const config = ServerConfig.parse({});
    const parts = { clock, log: silentLogger, config, instanceId: 'a' };
    await new ProgressRecorder(parts, service, store, instances, new DatabaseTime(parts)).look();
    const [point] = await store.read(await service.getGroup('acme/big'));
    expect(point).toEqual({ at: clock.now(), done: 0, success: 0, failed: 0, inFlight: 0, registered: 2 });
    expect(await store.read(await service.getGroup('over'))).toEqual([]);
  });

  it('of several instances on one Redis the eldest that is alive does it', async () => {
    const report = (instanceId: string, role: 'api' | 'worker') =>
      instances.note({
        ...{
          instanceId,
          role,
          bulkInstanceId: instanceId,
          version: '1',
          host: 'h',
          pid: 1,
          workerCount: null,
        },
        runs: {} as never,
      });
    await report('worker', 'worker');
    await report('first', 'api');
    await report('second', 'api');
    const groups = { now: [group(1)] };
    const second = recorder('second', groups, 'redis://localhost');
    const worker = recorder('worker', groups, 'redis://localhost');
    await second.look();
    await worker.look();
    expect(await done()).toEqual([]);
    await instances.forget('first');
    await worker.look();
    expect(await done()).toEqual([]);
    await second.look();
    expect(await done()).toEqual([1]);
  });

  it('a database that is away costs a point, nothing else', async () => {
    const groups = { now: [group(1)] };
    const { look } = recorder('a', groups);
    await database.query('ALTER TABLE millrace.server_progress RENAME TO away');
    await look();
    await database.query('ALTER TABLE millrace.away RENAME TO server_progress');
    await look();
    expect(await done()).toEqual([1]);
  });
});
