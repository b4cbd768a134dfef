import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { quoteIdentifier } from '@millrace/postgres';

/** A statement of one outbox. */
export interface Statement {
  readonly sql: string;
  /** For preparing it: two outboxes in two schemas may share a connection. */
  readonly name: string;
}

const VERBS = new URL('../../sql/verbs/', import.meta.url);

/** The files of `sql/verbs`, with the schema of one outbox in them. */
export class Statements {
  readonly #schema: string;
  readonly #prefix: string;
  readonly #read = new Map<string, Statement>();

  /**
   * @param schema - of the tables.
   * @throws MillraceError `IDENTIFIER_INVALID`.
   */
  constructor(schema: string) {
    this.#schema = quoteIdentifier(schema);
    this.#prefix = createHash('sha256').update(schema).digest('hex').slice(0, 8);
  }

  /**
   * The statement of a verb.
   * @param verb - the file's name without `.sql`.
   */
  get(verb: string): Statement {
    let statement = this.#read.get(verb);
    if (!statement) {
      const text = readFileSync(new URL(`${verb}.sql`, VERBS), 'utf8');
      // Headers are for readers and would travel with every call; the verb is for whoever looks at what the server is doing.
      const body = text.replaceAll(/^--.*\n/gm, '').trim();
      const sql = `/* outbox ${verb} */ ${body.replaceAll('{schema}', () => this.#schema)}`;
      statement = Object.freeze({ sql, name: `${verb}-${this.#prefix}` });
      this.#read.set(verb, statement);
    }
    return statement;
  }
}

/**
 * The channel of an outbox' hints; its name has to fit into 63 bytes, whatever the schema is called.
 * @param schema - of the tables.
 */
export const channelOf = (schema: string): string =>
  `millrace_outbox_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
