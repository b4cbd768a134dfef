import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { Home, OK, RELEASED } from '../contract/home.js';
import { holdTime, inSchema, openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';

const SQL = new URL('../../sql/', import.meta.url);
const files = readdirSync(SQL, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sql'));
const codeOf = (file: string): string => readFileSync(new URL(file, SQL), 'utf8').replaceAll(/--.*$/gm, '');

describe('where the time comes from', () => {
  let opened: StoreDatabase;
  beforeAll(async () => {
    opened = await openDatabase('postgres');
  }, 60_000);
  afterAll(() => opened.close());

  const bodies = async () => {
    const { rows } = await opened.database.query<{ name: string; body: string }>(
      "SELECT proname AS name, prosrc AS body FROM pg_proc WHERE pronamespace = $1::regnamespace AND prokind = 'f' ORDER BY 1",
      [`"${SCHEMA.replaceAll('"', '""')}"`],
    );
    return new Map(rows.map(({ name, body }) => [name, body]));
  };

  it('orchestrator NFR-2: from one function, which no other statement goes around', () => {
    const readers = files.filter((file) =>
      /clock_timestamp|statement_timestamp|transaction_timestamp|\bnow\(|current_timestamp|localtime/i.test(
        codeOf(file),
      ),
    );
    expect(readers).toEqual(['0001-create-operation.sql']);
    expect(codeOf('0001-create-operation.sql').match(/clock_timestamp/g)).toHaveLength(1);
  });

  it('orchestrator NFR-2: the server says it, and a held time differs from that in this function alone', async () => {
    const before = await bodies();
    expect(before.get('operation_now')).toBe('SELECT clock_timestamp()');
    const store = new PostgresOperationStore({ database: opened.database, schema: SCHEMA });
    const home = new Home({
      store,
      clear: async () => {},
      moveTime: async () => {},
      transaction: (fn) => fn(undefined),
      close: async () => {},
    });
    const { rows } = await opened.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const { opId } = await home.settled(RELEASED);
    expect((await home.get(opId)).acceptedAt.getTime()).toBeGreaterThanOrEqual(rows[0]?.now.getTime() ?? 0);
    expect(await home.claim()).toHaveLength(1);
    expect(await store.runs.settle({ opId, token: 2 }, OK)).toMatchObject({ kind: 'settled' });

    await holdTime(opened.database, 0);
    const after = await bodies();
    const changed = [...after].filter(([name, body]) => before.get(name) !== body).map(([name]) => name);
    expect(changed).toEqual(['operation_now']);
    await opened.database.query(inSchema('DROP TABLE {schema}.test_clock'));
  });

  it('orchestrator NFR-4: every statement says what it is for, what it promises, needs and gives', () => {
    for (const file of files.filter((name) => name.startsWith('verbs'))) {
      const text = readFileSync(new URL(file, SQL), 'utf8');
      expect([
        file,
        /^-- .+\n/.test(text),
        text.includes('-- Guarantee: '),
        text.includes('-- Returns: '),
      ]).toEqual([file, true, true, true]);
      if (text.includes('$1')) expect([file, /-- Parameters/.test(text)]).toEqual([file, true]);
    }
  });
});
