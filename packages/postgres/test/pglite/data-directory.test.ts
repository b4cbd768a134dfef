import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareDirectory } from '../../src/pglite/open.js';
import { failure } from '../open-databases.js';

let parent: string;
let directory: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'millrace-data-'));
  directory = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true }));

async function makeDatabase(where: string): Promise<void> {
  mkdirSync(join(where, 'global'), { recursive: true });
  writeFileSync(join(where, 'PG_VERSION'), '18');
  writeFileSync(join(where, 'global/pg_control'), 'x');
}
const refuseToMake = () => Promise.reject(new Error('nothing should be made'));

describe('prepareDirectory', () => {
  it('makes a database beside the directory and renames it when it is finished', async () => {
    let made = '';
    await prepareDirectory(directory, async (where) => {
      made = where;
      expect(existsSync(directory)).toBe(false);
      await makeDatabase(where);
    });
    expect(made).not.toBe(directory);
    expect(readdirSync(parent)).toEqual(['data']);
    await prepareDirectory(directory, refuseToMake);
  });

  it('fills an empty directory, and makes missing ones above it', async () => {
    mkdirSync(directory);
    await prepareDirectory(directory, makeDatabase);
    await prepareDirectory(join(parent, 'a/b/c'), makeDatabase);
    expect(existsSync(join(parent, 'a/b/c/PG_VERSION'))).toBe(true);
  });

  it('lets nobody else in: not into the database, not into what it makes above it', async () => {
    directory = join(parent, 'new/data');
    await prepareDirectory(directory, makeDatabase);
    for (const made of [directory, join(parent, 'new')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  it('removes what a crash in the middle of making one has left, and makes it again', async () => {
    mkdirSync(join(parent, 'data.creating-0badc0de'));
    writeFileSync(join(parent, 'data.creating-0badc0de/PG_VERSION'), '18');
    await prepareDirectory(directory, makeDatabase);
    expect(readdirSync(parent)).toEqual(['data']);
  });

  it('leaves nothing when making one fails', async () => {
    const half = async (where: string) => {
      writeFileSync(join(where, 'PG_VERSION'), '18');
      throw new Error('disk full');
    };
    expect(await failure(prepareDirectory(directory, half))).toMatchObject({ message: 'disk full' });
    expect(readdirSync(parent)).toEqual([]);
  });

  it('refuses, untouched, a directory with other things in it, half a database, a file', async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'PG_VERSION'), '18');
    expect(await failure(prepareDirectory(directory, refuseToMake))).toMatchObject({
      code: 'DATABASE_DIRECTORY_INVALID',
      message: expect.stringContaining('global/pg_control missing'),
    });
    expect(readdirSync(directory)).toEqual(['PG_VERSION']);
    const file = join(directory, 'PG_VERSION');
    expect(await failure(prepareDirectory(file, refuseToMake))).toMatchObject({
      code: 'DATABASE_DIRECTORY_INVALID',
    });
  });
});
