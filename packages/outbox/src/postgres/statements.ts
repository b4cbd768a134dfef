import { StatementFiles } from '@millrace/postgres';

const VERBS = new URL('../../sql/verbs/', import.meta.url);

/** The files of `sql/verbs`, with the schema of one outbox in them. */
export class Statements extends StatementFiles {
  /** @throws MillraceError `IDENTIFIER_INVALID`. */
  constructor(schema: string) {
    super({ part: 'outbox', folder: VERBS, schema });
  }
}
