import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ERRORS } from './errors.js';
import { quoteIdentifier } from './values.js';

/** A statement on the tables of one schema. */
export interface Statement {
  readonly sql: string;
  /** Name to prepare it under, unique per schema: users of two schemas may share a connection. */
  readonly name: string;
}

/** The place of the files and the schema of their tables. */
export interface StatementFilesOptions {
  /** Owner of the statements, shown in `pg_stat_activity`. */
  readonly part: string;
  /** Folder of the `.sql` files; ends with a slash. Files whose names begin with a digit are migrations and ignored. */
  readonly folder: URL;
  /** Replaces `{schema}` in the statements. */
  readonly schema: string;
}

/**
 * Reads SQL statements from files. A file holds statements under headings, or one statement that has the file's name:
 *
 * ```sql
 * -- name: claim_ready
 * -- Comment lines at the start of a line are for readers and never sent.
 * UPDATE {schema}.task SET status = 'running' WHERE …
 *
 * -- name: forget_worker
 * DELETE FROM {schema}.worker WHERE id = $1
 * ```
 */
export class StatementFiles {
  readonly #options: StatementFilesOptions;
  readonly #schema: string;
  #statements: ReadonlyMap<string, Statement> | undefined;

  /** @throws MillraceError `IDENTIFIER_INVALID`. */
  constructor(options: StatementFilesOptions) {
    this.#options = options;
    this.#schema = quoteIdentifier(options.schema);
  }

  /**
   * Returns the statement of a heading, or of the file `name.sql` without headings. The first call reads all files.
   * @throws MillraceError `STATEMENT_INVALID` for a missing, repeated, misnamed or empty statement.
   */
  get(name: string): Statement {
    this.#statements ??= this.#read();
    const statement = this.#statements.get(name);
    if (!statement) throw this.#invalid(name, 'it does not exist; check the headings and file names');
    return statement;
  }

  #read(): ReadonlyMap<string, Statement> {
    const { folder, part, schema } = this.#options;
    const suffix = createHash('sha256').update(`${part} ${schema}`).digest('hex').slice(0, 8);
    const statements = new Map<string, Statement>();
    for (const file of readdirSync(folder).filter((entry) => /^\D.*\.sql$/.test(entry))) {
      const text = readFileSync(new URL(file, folder), 'utf8');
      for (const [name, body] of this.#sectionsOf(file, text)) {
        if (!NAME.test(name)) throw this.#invalid(name, 'its name must be like claim_ready');
        if (body === '') throw this.#invalid(name, 'it has no SQL');
        if (statements.has(name)) throw this.#invalid(name, 'there are two of this name');
        const sql = `/* ${part} ${name} */ ${body.replaceAll('{schema}', () => this.#schema)}`;
        statements.set(name, { sql, name: `${name}-${suffix}` });
      }
    }
    return statements;
  }

  /** Returns the names and the SQL of a file's statements. */
  #sectionsOf(file: string, text: string): (readonly [name: string, body: string])[] {
    const [preamble = '', ...sections] = text.split(/^-- *name:/m);
    if (sections.length === 0) return [[file.slice(0, -'.sql'.length), withoutComments(text)]];
    if (withoutComments(preamble) !== '') throw this.#invalid(file, 'it has SQL above the first heading');
    return sections.map((section) => {
      const [heading = ''] = section.split('\n', 1);
      return [heading.trim(), withoutComments(section.slice(heading.length))];
    });
  }

  #invalid(name: string, reason: string): Error {
    return ERRORS.create('STATEMENT_INVALID', { name, folder: this.#options.folder.pathname, reason });
  }
}

const NAME = /^[a-z][\w-]*$/;

const withoutComments = (text: string) => text.replaceAll(/^--.*$\n?/gm, '').trim();
