import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineDag, Outbox, task } from '../src/index.js';
import type { ClaimedTask, FullLook } from '../src/ports.js';
import { Statements } from '../src/postgres/statements.js';
import { PostgresTaskStore } from '../src/postgres/task-store.js';
import { ReadyLooks } from '../src/ready-looks.js';
import { openOutboxDatabase, places } from './open-outbox.js';

const CLAIMER = { dags: ['a', 'b'], versions: [1], workerId: 'me', leaseMs: 1_000 };
const POLL_MS = 300;

/** Looks at a store that takes as long as the test says and gives `taken` tasks. */
function looking() {
  const clock = new ManualClock();
  const told = { takesMs: 0, taken: 4 };
  const claims: (ReadonlyMap<string, number> | undefined)[] = [];
  const asked: FullLook[] = [];
  const looks = new ReadyLooks(
    {
      async claim(_claimer, _limit, heads) {
        claims.push(heads);
        await clock.advance(told.takesMs);
        return Array.from({ length: told.taken }, (_, id) => ({ id: String(id) }) as ClaimedTask);
      },
      async heads(look) {
        asked.push(look);
        return new Map([['a', 7]]);
      },
    },
    { clock, pollIntervalMs: POLL_MS },
  );
  return { clock, told, claims, asked, claim: () => looks.claim(CLAIMER, 8) };
}

describe('outbox: looks for what can run', () => {
  it('outbox: are all at everything while that is quick', async () => {
    const { told, claims, asked, claim } = looking();
    told.takesMs = 19;
    for (let look = 0; look < 3; look++) await claim();
    expect(claims).toEqual([undefined, undefined, undefined]);
    expect(asked).toEqual([]);
  });

  it('outbox: begin where the first task was after a slow one, until a tenth of the time has gone into looking at everything', async () => {
    const { clock, told, claims, asked, claim } = looking();
    told.takesMs = 50;
    expect(await claim()).toHaveLength(4);
    told.takesMs = 1;
    await clock.advance(449 - 50);
    await claim();
    expect(asked).toEqual([{ dags: ['a', 'b'], ids: ['0', '1', '2', '3'], agoMs: 449, tookAll: false }]);
    expect(claims).toEqual([undefined, new Map([['a', 7]])]);
    await clock.advance(50);
    await claim();
    // Quick again: everything, always.
    await claim();
    expect(claims.slice(2)).toEqual([undefined, undefined]);
    expect(asked).toHaveLength(1);
  });

  it('outbox: look at everything once per poll interval at most, however little slow that is', async () => {
    const { clock, told, claims, asked, claim } = looking();
    told.takesMs = 20;
    told.taken = 3;
    await claim();
    await clock.advance(POLL_MS - 21);
    told.takesMs = 1;
    await claim();
    await claim();
    expect(claims).toEqual([undefined, new Map([['a', 7]]), undefined]);
    expect(asked).toMatchObject([{ tookAll: true }]);
  });
});

describe.each(places)('outbox: heads of what can run on $kind', (place) => {
  it('outbox: nothing from there on is passed over, everything before is', async () => {
    await using opened = await openOutboxDatabase(place);
    const { database, schema } = opened;
    const one = task({ mode: 'external', run: () => {} });
    const dags = [
      defineDag('old', [['t', one]]),
      defineDag('new', [['t', one]]),
      defineDag('none', [['t', one]]),
    ];
    const outbox = new Outbox({ database, schema, poll: false, dags });
    await outbox.start();
    const store = new PostgresTaskStore(database, new Statements(schema));
    const { names, versions } = outbox.registry;
    const claimer = { dags: names, versions, workerId: 'me', leaseMs: 60_000 };
    for (const key of ['first', 'second']) {
      await outbox.pusher.start('old', key);
      await outbox.pusher.start('new', key);
    }
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await database.query(`UPDATE ${quoted}.outbox_evt SET visible_at = to_timestamp(1000) WHERE dag = 'old'`);
    await database.query(
      `UPDATE ${quoted}.outbox_ready SET visible_at = to_timestamp(1000) WHERE dag = 'old'`,
    );
    const beyond = new Map([['old', 1000.5]]);
    const young = await store.claim(claimer, 8, beyond);
    expect(young.map(({ dag }) => dag)).toEqual(['new', 'new']);
    const [oldest, ...others] = await store.claim(claimer, 1);
    expect(others).toEqual([]);
    const ids = [oldest?.id ?? ''];
    const heads = await store.heads({ dags: names, ids, agoMs: 0, tookAll: false });
    expect([...heads]).toEqual([['old', 999]]);
    expect(await store.claim(claimer, 8, heads)).toMatchObject([{ dag: 'old' }]);
    // Of a DAG without tasks it is the time of the look, and so what comes next is found.
    const later = await store.heads({ dags: names, ids, agoMs: 0, tookAll: true });
    expect([...later.keys()].sort()).toEqual(['new', 'none', 'old']);
    expect(later.get('none')).toBeGreaterThan(1000);
    await outbox.pusher.start('none', 'first');
    expect(await store.claim(claimer, 8, later)).toMatchObject([{ dag: 'none' }]);
    await outbox.stop();
  });
});
