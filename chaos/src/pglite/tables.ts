import { migrateOutbox } from '@millrace/outbox';
import type { Database, Queryable } from '@millrace/postgres';
import { USER_TABLES } from '../outbox/tables.js';

/** Rows of one write; more than a page of the file, so that a kill can come between two of its pages. */
export const ROWS_PER_WRITE = 24;

/** Each row knows what it must hold: a page that is half of before and half of after would not. */
const WRITTEN_TABLE = `
  CREATE TABLE written (
    note text NOT NULL,
    part integer NOT NULL,
    body text NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (note, part)
  );
`;

/** $1 note, $2 how many rows. */
const WRITE = `
  INSERT INTO written (note, part, body, digest)
  SELECT $1, part, body, md5(body)
  FROM generate_series(1, $2) AS part, LATERAL (SELECT repeat(md5($1 || part), 40) AS body) AS bodies`;

/** Every note, with how many rows it has and how many of them are not what was written. */
export const WRITTEN = `
  SELECT note, count(*)::int AS rows, count(*) FILTER (WHERE md5(body) <> digest)::int AS broken
  FROM written GROUP BY note ORDER BY note`;

/** The tables of the outbox and of the user. */
export const TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname IN ('millrace', 'public') ORDER BY 1`;

/** Makes the tables that are not there yet; whoever is killed meanwhile leaves all of them or none. */
export async function makeTables(database: Database): Promise<void> {
  await migrateOutbox(database);
  await database.transaction(async (tx) => {
    const { rows } = await tx.query<{ there: boolean }>("SELECT to_regclass('written') IS NOT NULL AS there");
    if (!rows[0]?.there) await tx.script(`${USER_TABLES} ${WRITTEN_TABLE}`);
  });
}

/** Writes what belongs together. */
export const writeNote = (tx: Queryable, note: string): Promise<unknown> =>
  tx.query(WRITE, [note, ROWS_PER_WRITE]);
