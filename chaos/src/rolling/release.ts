import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A release of Millrace that processes can be started from. */
export interface Release {
  readonly name: 'old' | 'new';
  /** A file from whose place its packages are found. */
  readonly base: string;
}

/** This build. */
export const OLD_RELEASE: Release = { name: 'old', base: fileURLToPath(import.meta.url) };

/** Packages whose stores the next release has changed, and those that must be the same code as theirs. */
const COPIED = ['async-utils', 'foundation', 'redis', 'postgres', 'bulk-action', 'outbox'];
const ROOMS = ['dist', 'lua', 'sql', 'package.json'];

/**
 * What the next release changes in the Lua files: the line before, and the line that stands there instead. It counts how often it has written
 * each group, in the group's record and, to compare, in a key of its own; and it leaves fields in other records.
 */
const LUA_CHANGES: readonly (readonly [file: string, before: string, after: string])[] = [
  ['scopes', "local GROUP_SELDOM = {'level',", "local GROUP_SELDOM = {'nextSaves', 'level',"],
  [
    'saving',
    '      if g then\n',
    "      if g then\n        g.nextSaves = (g.nextSaves or 0) + 1\n        redis.call('HINCRBY', base .. 'next', key, 1)\n        redis.call('HSET', base .. 'g:' .. key, 'nextNote', 'added')\n",
  ],
  [
    'records',
    "    redis.call('SET', base .. 'state', mpack(S))\n",
    "    S.nextSaves = (S.nextSaves or 0) + 1\n    redis.call('HINCRBY', base .. 'next', '', 1)\n    redis.call('SET', base .. 'state', mpack(S))\n",
  ],
];

/** The key that the next release adds, as it stands under the prefix. */
export const ADDED_KEY = { name: 'next', type: 'hash' } as const;

/** What the next release adds to the tables: old statements work as before. */
const ADDED_SQL = `ALTER TABLE batch_instance ADD COLUMN next_note text;
ALTER TABLE outbox_evt ADD COLUMN next_count integer NOT NULL DEFAULT 0;
CREATE TABLE outbox_next (task_id bigint PRIMARY KEY);
`;

/**
 * Makes the release that follows this one: the same build with an additional layout, as fields, a key, columns and a table.
 * @param folder - an empty one.
 */
export function makeNextRelease(folder: string): Release {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const modules = join(folder, 'node_modules');
  const ours = join(modules, '@millrace');
  mkdirSync(ours, { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (!['@millrace', 'millrace'].includes(name) && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of COPIED)
    for (const room of readdirSync(join(root, 'packages', name)).filter((one) => ROOMS.includes(one)))
      cpSync(join(root, 'packages', name, room), join(ours, name, room), {
        recursive: true,
        filter: (path) => !/\.(ts|map|tsbuildinfo)$/.test(path),
      });
  for (const [file, before, after] of LUA_CHANGES)
    change(join(ours, 'bulk-action', 'lua', `${file}.lua`), before, after);
  addMigration(join(ours, 'outbox', 'sql'), 'next', ADDED_SQL);
  return { name: 'new', base: join(folder, 'release.js') };
}

/** Adds the next migration to those of a folder. */
export function addMigration(folder: string, name: string, sql: string): void {
  const count = readdirSync(folder).filter((file) => /^\d{4}-/.test(file)).length;
  writeFileSync(join(folder, `${String(count + 1).padStart(4, '0')}-${name}.sql`), sql);
}

function change(file: string, before: string, after: string): void {
  const text = readFileSync(file, 'utf8');
  if (text.split(before).length !== 2) throw new Error(`expected once in ${file}: ${before}`);
  writeFileSync(
    file,
    text.replace(before, () => after),
  );
}

/** Loads a package of a release. */
export const loadFrom = <T>({ base }: Pick<Release, 'base'>, name: string): Promise<T> =>
  import(pathToFileURL(createRequire(base).resolve(name)).href) as Promise<T>;

/** The folder of a package of a release. */
export const folderOf = ({ base }: Pick<Release, 'base'>, name: string): string =>
  dirname(createRequire(base).resolve(`${name}/package.json`));
