import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyDatabase, openPglite, prepareDirectory } from '../../src/pglite/open.js';
import { failure, folderPerTest } from '../support.js';

const parent = folderPerTest();
const data = () => join(parent(), 'data');

async function makeDatabase(where: string): Promise<void> {
  mkdirSync(join(where, 'global'), { recursive: true });
  writeFileSync(join(where, 'PG_VERSION'), '18');
  writeFileSync(join(where, 'global/pg_control'), 'x');
}
const refuseToMake = () => Promise.reject(new Error('nothing should be made'));

it('makes a database beside the directory, renames it when it is finished, and keeps it', async () => {
  await prepareDirectory(data(), async (where) => {
    expect(where).not.toBe(data());
    expect(existsSync(data())).toBe(false);
    await makeDatabase(where);
  });
  expect(readdirSync(parent())).toEqual(['data']);
  await prepareDirectory(data(), refuseToMake);
});

it('fills an empty directory, and makes missing ones above it, for its own user only', async () => {
  mkdirSync(data());
  const deep = join(parent(), 'a/b');
  for (const directory of [data(), deep]) {
    await prepareDirectory(directory, makeDatabase);
    expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true);
  }
  for (const made of [data(), deep, join(parent(), 'a')]) expect(statSync(made).mode & 0o777).toBe(0o700);
});

it('leaves nothing if making one fails', async () => {
  const half = async (where: string) => {
    writeFileSync(join(where, 'PG_VERSION'), '18');
    throw new Error('disk full');
  };
  expect(await failure(prepareDirectory(data(), half))).toMatchObject({ message: 'disk full' });
  expect(readdirSync(parent())).toEqual([]);
});

it('refuses a directory with half a database, and a file, and leaves them as they are', async () => {
  mkdirSync(data());
  const file = join(data(), 'PG_VERSION');
  writeFileSync(file, '18');
  for (const [directory, reason] of [
    [data(), 'global/pg_control missing'],
    [file, 'it is a file'],
  ] as const)
    expect(await failure(prepareDirectory(directory, refuseToMake))).toMatchObject({
      code: 'DATABASE_DIRECTORY_INVALID',
      message: expect.stringContaining(reason),
    });
  expect(readdirSync(data())).toEqual(['PG_VERSION']);
});

const CATALOGS = [
  'SELECT datname, encoding, datcollate, datctype, datistemplate FROM pg_database ORDER BY 1',
  'SELECT name, setting FROM pg_settings ORDER BY 1',
  "SELECT relname, relkind, relnamespace::regnamespace::text FROM pg_class WHERE relname !~ '^pg_toast' ORDER BY 1, 2, 3",
  'SELECT proname, count(*)::int FROM pg_proc GROUP BY 1 ORDER BY 1',
  'SELECT extname, extversion FROM pg_extension ORDER BY 1',
];

async function catalogsOf(content?: Blob): Promise<unknown[]> {
  const pglite = await openPglite(undefined, content);
  const found = [];
  for (const sql of CATALOGS) found.push((await pglite.query(sql)).rows);
  await pglite.close();
  return found;
}

it('unpacks a new database that is the same as the one of initdb', async () => {
  const packed = await emptyDatabase();
  expect(packed, '`npm run build` packs it').toBeDefined();
  const unpacked = await catalogsOf(packed);
  expect(unpacked).toEqual(await catalogsOf());
  for (const rows of unpacked) expect(rows).not.toEqual([]);
}, 30_000);
