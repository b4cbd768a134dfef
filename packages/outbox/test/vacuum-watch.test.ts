import { ManualClock, recordingLogger } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HorizonHolder, resolveOutboxOptions, VacuumWatch } from '../src/index.js';
import { Statements } from '../src/postgres/statements.js';
import { PostgresUpkeepStore } from '../src/postgres/upkeep-store.js';
import { type OutboxDatabase, openOutboxDatabase, postgresPlace } from './open-outbox.js';

const HOUR_MS = 3_600_000;
const SLOT = { kind: 'replication slot', name: 'copy', xmin: '700', ageMs: undefined } as const;
const holder = (given: Partial<HorizonHolder>): HorizonHolder => ({
  ...{ kind: 'transaction', name: '7', xmin: '500', ageMs: 1_000 },
  ...{ username: 'app', application: 'report', state: 'idle in transaction', ...given },
});

let opened: OutboxDatabase;
beforeAll(async () => {
  opened = await openOutboxDatabase(postgresPlace);
}, 60_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

/** A watch that asks the server, and one whose server says what the test wants. */
function watching() {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const { database, schema } = opened;
  const options = resolveOutboxOptions({ database, schema, clock, logger: log, poll: false });
  const seen: HorizonHolder[] = [];
  const watch = new VacuumWatch({ holders: async () => seen }, options);
  const real = new VacuumWatch(new PostgresUpkeepStore(database, new Statements(schema)), options);
  return { clock, lines, seen, watch, real };
}

describe('outbox: what holds back vacuum', () => {
  it('outbox: the oldest is found; warned of when it is too old, and once an hour while it is', async () => {
    const { clock, lines, seen, watch } = watching();
    watch.start();
    await clock.advance(HOUR_MS);
    expect(await watch.look()).toEqual({ ageMs: 0, holder: undefined });
    expect(lines).toEqual([]);
    seen.push(holder({ ageMs: 299_999 }), holder({ ageMs: 5 }));
    await clock.advance(60_000);
    expect(lines).toEqual([]);
    seen.push(holder({ name: '8', ageMs: 300_000.4 }));
    expect(await watch.look()).toMatchObject({ ageMs: 300_000.4, holder: { name: '8' } });
    await clock.advance(60_000);
    expect(lines).toMatchObject([
      {
        level: 'warn',
        fields: { name: '8', ageMs: 300_000, application: 'report', state: 'idle in transaction' },
      },
    ]);
    await clock.advance(HOUR_MS - 120_000);
    expect(lines).toHaveLength(1);
    await clock.advance(180_000);
    expect(lines).toHaveLength(2);
    seen.length = 0;
    await clock.advance(2 * HOUR_MS);
    expect(lines).toHaveLength(2);
    await watch.stop();
  }, 30_000);

  it('outbox: what has no age of its own is as old as it has stood still before our eyes', async () => {
    const { clock, seen, watch } = watching();
    seen.push(holder(SLOT));
    expect(await watch.look()).toEqual({ ageMs: 0, holder: undefined });
    await clock.advance(5_000);
    expect(await watch.look()).toMatchObject({
      ageMs: 5_000,
      holder: { kind: 'replication slot', name: 'copy' },
    });
    seen[0] = holder({ ...SLOT, xmin: '701' });
    expect(await watch.look()).toMatchObject({ ageMs: 0 });
    await clock.advance(1_000);
    expect(await watch.look()).toMatchObject({ ageMs: 1_000 });
    seen.length = 0;
    await watch.look();
    seen.push(holder({ ...SLOT, xmin: '701' }));
    expect(await watch.look()).toMatchObject({ ageMs: 0 });
  }, 30_000);

  it('outbox: a server is asked: a snapshot that is open, and a writer that is idle, are seen until they end', async () => {
    const { real } = watching();
    expect(await real.look()).toEqual({ ageMs: 0, holder: undefined });
    await using other = opened.openAnother({ applicationName: 'holds back' });
    const seen = async () => {
      const { ageMs = 0, holder: found } = (await real.look()) ?? {};
      expect(ageMs).toBeGreaterThan(0);
      return found;
    };
    const expected = { kind: 'transaction', application: 'holds back:pool', state: 'idle in transaction' };
    await other.transaction(
      async (tx) => {
        await tx.query('SELECT 1');
        expect(await seen()).toMatchObject(expected);
      },
      { isolation: 'repeatable read' },
    );
    await other.query('CREATE TABLE scratch (n integer)');
    await other.transaction(async (tx) => {
      await tx.query('INSERT INTO scratch VALUES (1)');
      expect(await seen()).toMatchObject(expected);
    });
    expect(await real.look()).toEqual({ ageMs: 0, holder: undefined });
  }, 30_000);
});
