import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ERRORS } from './errors.js';

/** One step of a schema, a file of a package. */
export interface MigrationFile {
  /** From 1, without gaps. */
  readonly number: number;
  /** `0001-create-tables`: the file's name without `.sql`. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text, line ends aside. */
  readonly checksum: string;
  /** True if releases that do not know this step cannot work with the schema after it. */
  readonly breaking: boolean;
}

const FILE_NAME = /^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.sql$/;

/** A line such as `-- breaking: older releases write rows without the new key`. */
const BREAKING = /^-- breaking: \S/m;

/**
 * Reads the migrations of a package in their order: the files `0001-name.sql`, `0002-name.sql` … of a folder. Ignores files whose names do not
 * begin with a digit.
 * @throws MillraceError `MIGRATION_INVALID` for a wrong name, a missing or repeated number, or a folder without migrations.
 */
export function readMigrations(folder: URL): readonly MigrationFile[] {
  const files = readdirSync(folder).filter((name) => /^\d/.test(name));
  if (files.length === 0) throw invalid(folder.pathname, 'there is no file like 0001-name.sql');
  return files.sort().map((file, index) => {
    const number = Number(FILE_NAME.exec(file)?.[1]);
    if (Number.isNaN(number)) throw invalid(file, 'its name must be like 0001-what-it-does.sql');
    if (number !== index + 1) {
      const expected = String(index + 1).padStart(4, '0');
      throw invalid(file, `expected number ${expected} here: numbers begin at 0001, without gaps or repeats`);
    }
    // A checkout may change line ends, which changes nothing else.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(sql).digest('hex');
    return { number, name: file.slice(0, -'.sql'.length), sql, checksum, breaking: BREAKING.test(sql) };
  });
}

const invalid = (file: string, reason: string) => ERRORS.create('MIGRATION_INVALID', { file, reason });
