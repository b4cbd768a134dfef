import { ERRORS } from '@millrace/postgres';
import { describe, expect, it } from 'vitest';
import { migrateOutbox, requireOutboxMigrated } from '../src/migrate.js';
import { openOutboxDatabase, places } from './open-outbox.js';

describe.each(places)('outbox: migrations on $kind', (place) => {
  it('are applied once, and asked for by name when they are missing', async () => {
    await using opened = await openOutboxDatabase(place);
    const { database, schema } = opened;
    await requireOutboxMigrated(database, { schema });
    expect(await migrateOutbox(database, { schema })).toEqual([]);

    const missing = await requireOutboxMigrated(database).catch((error: unknown) => error);
    expect(ERRORS.is(missing, 'SCHEMA_OUTDATED') && missing.message).toContain('0001-create-tables');
    expect(await migrateOutbox(database)).toEqual(['0001-create-tables']);
    await requireOutboxMigrated(database);
  });
});
