import { readFileSync } from 'node:fs';
import { dumpSchema } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  type Database,
  type MigrateOptions,
  migrate,
  quoteIdentifier,
  requireMigrated,
} from '../../src/index.js';
import { failure } from '../open-databases.js';

const folder = (name: string) => new URL(`../fixtures/${name}/`, import.meta.url);
const SHOP = ['0001-create-orders', '0002-touch-orders'];

/** Migrations, and the text they are compared by. */
export function migrationsContract(database: () => Database): void {
  let schemas = 0;
  const fresh = (name: string): MigrateOptions => ({
    schema: `odd "schema ${++schemas}`,
    package: 'shop',
    folder: folder(name),
  });

  describe('migrate', () => {
    it('applies every file once, and the schema is the one in the committed file', async () => {
      const shop = fresh('shop');
      expect(await failure(requireMigrated(database(), shop))).toMatchObject({
        code: 'SCHEMA_OUTDATED',
        message: expect.stringContaining(SHOP.join(', ')),
      });
      expect(await migrate(database(), shop)).toEqual(SHOP);
      expect(await migrate(database(), shop)).toEqual([]);
      await requireMigrated(database(), shop);
      const committed = readFileSync(new URL('../fixtures/shop-schema.txt', import.meta.url), 'utf8');
      expect(await dumpSchema(database(), shop.schema as string)).toBe(committed);
    });

    it('ten instances at once apply every file once', async () => {
      const shop = fresh('shop');
      const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(database(), shop)));
      expect(applied.flat().sort()).toEqual(SHOP);
    });

    it('packages share a schema and count for themselves', async () => {
      const shop = fresh('shop');
      await migrate(database(), shop);
      const other = { ...shop, package: 'other', folder: folder('broken') };
      expect(await failure(migrate(database(), other))).toMatchObject({ code: 'MIGRATION_FAILED' });
      await requireMigrated(database(), shop);
    });

    it('a file that fails is rolled back as a whole, those before it stay', async () => {
      const broken = fresh('broken');
      const thrown = await failure(migrate(database(), broken));
      expect(thrown).toMatchObject({
        code: 'MIGRATION_FAILED',
        message: expect.stringContaining('0002-bad.sql'),
        cause: { code: '22012' },
      });
      const dump = await dumpSchema(database(), broken.schema as string);
      expect(dump).toContain('table first');
      expect(dump).not.toContain('table second');
      expect(await failure(requireMigrated(database(), broken))).toMatchObject({ code: 'SCHEMA_OUTDATED' });
    });

    it('a file that had to give way to somebody who works on the tables is tried again', async () => {
      const colliding = fresh('colliding');
      expect(await migrate(database(), colliding)).toEqual(['0001-count-tries', '0002-collide']);
      expect(await dumpSchema(database(), colliding.schema as string)).toContain('table changed');
    });

    it('a changed file is refused, by the command and at the start', async () => {
      const shop = fresh('shop');
      await migrate(database(), shop);
      const changed = { ...shop, folder: folder('shop-changed') };
      for (const check of [migrate, requireMigrated])
        expect(await failure(check(database(), changed))).toMatchObject({
          code: 'MIGRATION_CHANGED',
          message: expect.stringContaining('0002-touch-orders.sql'),
        });
    });

    it('a newer database is accepted, unless a step that only it has is breaking', async () => {
      const newer = fresh('shop-newer');
      expect(await migrate(database(), newer)).toHaveLength(3);
      expect(await migrate(database(), { ...newer, folder: folder('shop') })).toEqual([]);
      await requireMigrated(database(), { ...newer, folder: folder('shop') });
      const breaking = fresh('shop-breaking');
      expect(await migrate(database(), breaking)).toHaveLength(3);
      const older = { ...breaking, folder: folder('shop') };
      for (const check of [migrate, requireMigrated])
        expect(await failure(check(database(), older))).toMatchObject({ code: 'SCHEMA_NEWER', status: 503 });
    });

    it('a gap in the database is refused', async () => {
      const shop = fresh('shop');
      await migrate(database(), shop);
      const table = `${quoteIdentifier(shop.schema as string)}.schema_migration`;
      await database().query(`DELETE FROM ${table} WHERE number = 1`);
      expect(await failure(migrate(database(), shop))).toMatchObject({ code: 'MIGRATION_GAP' });
    });

    it.each(['gap', 'misnamed'])('files with a %s are refused before anything happens', async (name) => {
      expect(await failure(migrate(database(), fresh(name)))).toMatchObject({ code: 'MIGRATION_INVALID' });
    });

    it('a file that commits by itself is not recorded', async () => {
      const commits = fresh('commits');
      expect(await failure(migrate(database(), commits))).toMatchObject({ code: 'MIGRATION_INVALID' });
      expect(await failure(requireMigrated(database(), commits))).toMatchObject({ code: 'SCHEMA_OUTDATED' });
    });
  });
}
