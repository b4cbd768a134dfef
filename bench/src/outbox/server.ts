import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresServer, startPostgres } from '@millrace/testkit';
import pg from 'pg';

/** Between two looks whether everything is done. */
const LOOK_EVERY_MS = 2;
/** What takes longer will never end. */
const DRAINED_WITHIN_MS = 300_000;

/** The private server of this run, one for all contenders; started by the first who asks. */
let running: Promise<{ readonly server: PostgresServer; readonly admin: pg.Client }> | undefined;
let version = '';

const open = async () => {
  // As in production: a commit has reached the disk when it is answered.
  const server = await startPostgres({ fsync: true, args: ['-c', 'synchronous_commit=on'] });
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  version = (await admin.query('SHOW server_version')).rows[0].server_version;
  return { server, admin };
};

const ready = () => {
  running ??= open();
  return running;
};

/** Where the server listens. */
export const databaseUrl = async (): Promise<string> => (await ready()).server.url;

/** Runs statements of the benchmark itself, on a connection that no contender has. */
export async function administer(sql: string): Promise<Record<string, unknown>[]> {
  return (await (await ready()).admin.query(sql)).rows;
}

/** The effect of a handler: one row in a user table, which belongs to no queue. */
export const INSERT_EFFECT = 'INSERT INTO public.effect (note) VALUES ($1)';
/** Name under which every contender prepares INSERT_EFFECT. */
export const EFFECT_NAME = 'bench-effect';

/** Creates or empties the table of effects. */
export async function emptyEffects(): Promise<void> {
  await administer(
    'CREATE TABLE IF NOT EXISTS public.effect (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL); TRUNCATE public.effect',
  );
}

/** Returns the number of effects. */
export async function countEffects(): Promise<number> {
  const [row] = await administer('SELECT count(*)::integer AS count FROM public.effect');
  return Number(row?.count);
}

/**
 * Waits until nothing is open any more.
 * @param anyOpen - a statement that answers `{ open: false }` then.
 */
export async function drained(anyOpen: string): Promise<void> {
  const deadline = performance.now() + DRAINED_WITHIN_MS;
  while ((await administer(anyOpen))[0]?.open) {
    if (performance.now() > deadline)
      throw new Error(`after ${DRAINED_WITHIN_MS / 1000} s it still is open: ${anyOpen}`);
    await delay(LOOK_EVERY_MS);
  }
}

/** How the server is set up, for the printed settings; the version is known once it has run. */
export const describeServer = (): string =>
  `PostgreSQL${version && ` ${version}`}: one private server for all, loopback TCP, fsync and synchronous_commit on, on the disk of the temporary folder, the rest as it comes; before every sample all tables emptied and a CHECKPOINT, after the insertion ANALYZE`;

/** Ends the server if there is one. */
export async function stopServer(): Promise<void> {
  const current = await running;
  running = undefined;
  await current?.admin.end();
  await current?.server.stop();
}
