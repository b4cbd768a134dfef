import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dumpSchema } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  type Database,
  type MigrateOptions,
  migrate,
  quoteIdentifier,
  requireMigrated,
} from '../../src/index.js';
import { failure, folderPerTest } from '../support.js';

type Files = Readonly<Record<string, string>>;

const NAMES = ['0001-create-orders', '0002-touch-orders'] as const;
const SHOP = {
  '0001-create-orders.sql': 'CREATE TABLE orders (id bigint PRIMARY KEY, touched_at timestamptz);',
  // A function body has statements of its own: the file goes to PostgreSQL as one text.
  '0002-touch-orders.sql': `CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.touched_at := now(); RETURN NEW; END $$;
    CREATE TRIGGER orders_touch BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch();`,
};
const COLLIDES_TWICE = `DO $$ BEGIN
  IF nextval('tries') < 3 THEN RAISE 'deadlock detected' USING ERRCODE = '40P01'; END IF;
END $$;`;

export function migrationsContract(database: () => Database): void {
  let [schemas, folders] = [0, 0];
  const folder = folderPerTest();
  const folderOf = (files: Files) => {
    const path = join(folder(), String(++folders));
    mkdirSync(path);
    for (const [name, sql] of Object.entries(files)) writeFileSync(join(path, name), sql);
    return pathToFileURL(`${path}/`);
  };
  const freshSchema = (files: Files): MigrateOptions & { readonly schema: string } => ({
    schema: `odd "schema ${++schemas}`,
    package: 'shop',
    folder: folderOf(files),
  });
  describe('migrate', () => {
    it('applies every file once, and each package counts its own', async () => {
      const shop = freshSchema({ ...SHOP, 'find-order.sql': 'not a migration' });
      expect(await failure(requireMigrated(database(), shop))).toMatchObject({
        code: 'SCHEMA_OUTDATED',
        message: expect.stringContaining(NAMES.join(', ')),
      });
      expect(await migrate(database(), shop)).toEqual(NAMES);
      expect(await migrate(database(), shop)).toEqual([]);
      await requireMigrated(database(), shop);
      expect(await dumpSchema(database(), shop.schema)).toContain('CREATE TRIGGER orders_touch');
      const other = { ...shop, package: 'other', folder: folderOf({ '0001-one.sql': 'SELECT 1;' }) };
      expect(await migrate(database(), other)).toEqual(['0001-one']);
      await requireMigrated(database(), shop);
    });

    it('ten instances at once apply every file once', async () => {
      const shop = freshSchema(SHOP);
      const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(database(), shop)));
      expect(applied.flat().sort()).toEqual(NAMES);
    });

    it('rolls back a file that fails as a whole, and keeps those before it', async () => {
      const broken = freshSchema({
        '0001-good.sql': 'CREATE TABLE first (n int);',
        '0002-bad.sql': 'CREATE TABLE second (n int); INSERT INTO first VALUES (1); SELECT 1 / 0;',
      });
      expect(await failure(migrate(database(), broken))).toMatchObject({
        code: 'MIGRATION_FAILED',
        message: expect.stringContaining('0002-bad.sql'),
        cause: { code: '22012' },
      });
      const dump = await dumpSchema(database(), broken.schema);
      expect(dump).toContain('table first');
      expect(dump).not.toContain('table second');
      expect(await failure(requireMigrated(database(), broken))).toMatchObject({ code: 'SCHEMA_OUTDATED' });
    });

    it('applies a file again that was the victim of a deadlock', async () => {
      const colliding = freshSchema({
        // The numbers of a sequence are not taken back with a transaction.
        '0001-count-tries.sql': 'CREATE SEQUENCE tries;',
        '0002-collide.sql': `CREATE TABLE changed (id integer); ${COLLIDES_TWICE}`,
      });
      expect(await migrate(database(), colliding)).toEqual(['0001-count-tries', '0002-collide']);
      expect(await dumpSchema(database(), colliding.schema)).toContain('table changed');
    });

    it('accepts a newer database', async () => {
      const newer = freshSchema({ ...SHOP, '0003-add-note.sql': 'ALTER TABLE orders ADD COLUMN note text;' });
      expect(await migrate(database(), newer)).toHaveLength(3);
      const older = { ...newer, folder: folderOf(SHOP) };
      expect(await migrate(database(), older)).toEqual([]);
      await requireMigrated(database(), older);
    });

    it.each<[string, Files, Files, string]>([
      [
        'MIGRATION_CHANGED',
        SHOP,
        { ...SHOP, '0002-touch-orders.sql': `${SHOP['0002-touch-orders.sql']}-- edited later\n` },
        '0002-touch-orders.sql',
      ],
      [
        'SCHEMA_NEWER',
        { ...SHOP, '0003-add-currency.sql': '-- breaking: older releases do not fill it\nSELECT 1;' },
        SHOP,
        '0003-add-currency',
      ],
    ])('refuses with %s, at the migration and at the start', async (code, applied, own, file) => {
      const schema = freshSchema(applied);
      await migrate(database(), schema);
      const changed = { ...schema, folder: folderOf(own) };
      for (const check of [migrate, requireMigrated])
        expect(await failure(check(database(), changed))).toMatchObject({
          code,
          message: expect.stringContaining(file),
        });
    });

    it('refuses a gap in the database', async () => {
      const shop = freshSchema(SHOP);
      await migrate(database(), shop);
      const table = `${quoteIdentifier(shop.schema)}.schema_migration`;
      await database().query(`DELETE FROM ${table} WHERE number = 1`);
      expect(await failure(migrate(database(), shop))).toMatchObject({ code: 'MIGRATION_GAP' });
    });

    it.each<[string, Files]>([
      ['a gap', { '0001-one.sql': 'SELECT 1;', '0003-three.sql': 'SELECT 1;' }],
      ['a wrong name', { '1-one.sql': 'SELECT 1;' }],
      ['no migration', { 'find-order.sql': 'SELECT 1;' }],
      [
        'a file that ends its transaction',
        { '0001-ends-it.sql': 'CREATE TABLE left_behind (n int); COMMIT;' },
      ],
    ])('refuses files with %s and records nothing', async (_, files) => {
      const schema = freshSchema(files);
      expect(await failure(migrate(database(), schema))).toMatchObject({ code: 'MIGRATION_INVALID' });
      const check = failure(requireMigrated(database(), { ...schema, folder: folderOf(SHOP) }));
      expect(await check).toMatchObject({ code: 'SCHEMA_OUTDATED' });
    });
  });
}
