import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { quoteIdentifier } from './rules/identifier.js';

/** A statement on the tables of one schema. */
export interface Statement {
  readonly sql: string;
  /** For preparing it: users of two schemas may share a connection. */
  readonly name: string;
}

/** Which files. */
export interface StatementFilesOptions {
  /** Whose statements they are, for whoever looks at what the server is doing. */
  readonly part: string;
  /** Holds one file `VERB.sql` for each; ends with a slash. */
  readonly folder: URL;
  /** Stands for `{schema}` in them. */
  readonly schema: string;
}

/** Statements that stand in files, one in each, with the schema of their tables in them. */
export class StatementFiles {
  readonly #options: StatementFilesOptions;
  readonly #schema: string;
  readonly #suffix: string;
  readonly #read = new Map<string, Statement>();

  /** @throws MillraceError `IDENTIFIER_INVALID`. */
  constructor(options: StatementFilesOptions) {
    const { part, schema } = options;
    this.#options = options;
    this.#schema = quoteIdentifier(schema);
    this.#suffix = createHash('sha256').update(`${part} ${schema}`).digest('hex').slice(0, 8);
  }

  /**
   * The statement of a verb.
   * @param verb - the file's name without `.sql`.
   */
  get(verb: string): Statement {
    let statement = this.#read.get(verb);
    if (!statement) {
      const { part, folder } = this.#options;
      const text = readFileSync(new URL(`${verb}.sql`, folder), 'utf8');
      // Headers are for readers and would travel with every call.
      const body = text.replaceAll(/^--.*\n/gm, '').trim();
      const sql = `/* ${part} ${verb} */ ${body.replaceAll('{schema}', () => this.#schema)}`;
      statement = Object.freeze({ sql, name: `${verb}-${this.#suffix}` });
      this.#read.set(verb, statement);
    }
    return statement;
  }
}
