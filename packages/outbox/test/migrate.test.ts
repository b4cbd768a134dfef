import { readdirSync } from 'node:fs';
import { ERRORS } from '@millrace/postgres';
import { dumpSchema } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateOutbox, requireOutboxMigrated } from '../src/migrate.js';
import { type OutboxDatabase, openOutboxDatabase, places } from './open-outbox.js';

const FILES = readdirSync(new URL('../sql/', import.meta.url))
  .filter((name) => /^\d{4}-/.test(name))
  .map((name) => name.replace(/\.sql$/, ''))
  .sort();

describe.each(places)('outbox: migrations on $kind', (place) => {
  let opened: OutboxDatabase;
  beforeAll(async () => {
    opened = await openOutboxDatabase(place);
  }, 60_000);
  afterAll(() => opened[Symbol.asyncDispose]());

  it('are applied once, and asked for by name when they are missing', async () => {
    const { database, schema } = opened;
    await requireOutboxMigrated(database, { schema });
    expect(await migrateOutbox(database, { schema })).toEqual([]);

    const missing = await requireOutboxMigrated(database).catch((error: unknown) => error);
    expect(ERRORS.is(missing, 'SCHEMA_OUTDATED') && missing.message).toContain('0001-create-tables');
    expect(await migrateOutbox(database)).toEqual(FILES);
    await requireOutboxMigrated(database);
  });

  it('by four callers at once apply every file once', async () => {
    const { database } = opened;
    const options = { schema: 'at once' };
    const applied = await Promise.all(Array.from({ length: 4 }, () => migrateOutbox(database, options)));
    expect(applied.flat().sort()).toEqual(FILES);
  });

  it('make the schema that is written down, whatever it is called', async () => {
    const { database, schema } = opened;
    // `npx vitest run packages/outbox/test/migrate.test.ts -u` writes it anew.
    await expect(await dumpSchema(database, schema)).toMatchFileSnapshot('./schema.txt');
  });

  it('refuse a database that a newer release has changed so that this one cannot use it', async () => {
    const { database } = opened;
    const schema = 'newer';
    await migrateOutbox(database, { schema });
    await database.query(
      "INSERT INTO newer.schema_migration (package, number, name, checksum, breaking) VALUES ('outbox', $1, 'x', '', true)",
      [FILES.length + 1],
    );
    await expect(requireOutboxMigrated(database, { schema })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
    await expect(migrateOutbox(database, { schema })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
  });
});
