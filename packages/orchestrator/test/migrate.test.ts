import { readdirSync } from 'node:fs';
import { ERRORS } from '@millrace/postgres';
import { dumpSchema } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  migrateOrchestrator,
  PostgresOperationStore,
  requireOrchestratorMigrated,
} from '../src/postgres/index.js';
import { openDatabase, SCHEMA, type StoreDatabase } from './open-store.js';

const FILES = readdirSync(new URL('../sql/', import.meta.url))
  .filter((name) => /^\d{4}-/.test(name))
  .map((name) => name.replace(/\.sql$/, ''))
  .sort();

describe.each(['pglite', 'postgres'] as const)('orchestrator NFR-2: migrations on %s', (kind) => {
  let opened: StoreDatabase;
  beforeAll(async () => {
    opened = await openDatabase(kind);
  }, 60_000);
  afterAll(() => opened.close());

  it('orchestrator NFR-2: are applied once, and asked for by name when they are missing', async () => {
    const { database } = opened;
    await requireOrchestratorMigrated(database, { schema: SCHEMA });
    expect(await migrateOrchestrator(database, { schema: SCHEMA })).toEqual([]);
    const store = new PostgresOperationStore({ database });
    const missing = await store.start().catch((error: unknown) => error);
    expect(ERRORS.is(missing, 'SCHEMA_OUTDATED') && missing.message).toContain('0001-create-operation');
    expect(await migrateOrchestrator(database)).toEqual(FILES);
    await store.start();
    await store.stop();
    await expect(store.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
  });

  it('orchestrator NFR-3: by four callers at once apply every file once', async () => {
    const options = { schema: 'at once' };
    const applied = await Promise.all(
      Array.from({ length: 4 }, () => migrateOrchestrator(opened.database, options)),
    );
    expect(applied.flat().sort()).toEqual(FILES);
  });

  it('orchestrator NFR-2: make the schema that is written down, whatever it is called', async () => {
    // `npx vitest run packages/orchestrator/test/migrate.test.ts -u` writes it anew.
    await expect(await dumpSchema(opened.database, SCHEMA)).toMatchFileSnapshot('./schema.txt');
  });

  it('orchestrator NFR-2: refuse a database that a newer release has changed so that this one cannot use it', async () => {
    const { database } = opened;
    const schema = 'newer';
    await migrateOrchestrator(database, { schema });
    await database.query(
      "INSERT INTO newer.schema_migration (package, number, name, checksum, breaking) VALUES ('orchestrator', $1, 'x', '', true)",
      [FILES.length + 1],
    );
    await expect(new PostgresOperationStore({ database, schema }).start()).rejects.toMatchObject({
      code: 'SCHEMA_NEWER',
    });
    await expect(migrateOrchestrator(database, { schema })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
  });
});
