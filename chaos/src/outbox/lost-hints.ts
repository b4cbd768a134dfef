import type { LedgerEntry } from '@millrace/testkit/ledger';
import { asking } from '../postgres.js';
import type { Verdict } from '../registry.js';

/**
 * Takes the place of PostgreSQL's own NOTIFY by coming before it in the search path, and swallows what is sent while it is told to. Numbers of a
 * sequence are taken in no transaction, so they count without making anybody wait.
 */
export const HINT_SWITCH = `
  CREATE TABLE hint_switch (deaf boolean NOT NULL);
  INSERT INTO hint_switch VALUES (false);
  CREATE SEQUENCE hint_swallowed;
  CREATE FUNCTION public.pg_notify(channel text, payload text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT deaf FROM public.hint_switch) THEN
      PERFORM nextval('public.hint_swallowed');
    ELSE
      PERFORM pg_catalog.pg_notify(channel, payload);
    END IF;
  END
  $$;
  DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$;
`;

/** $1 whether hints are lost from now on. */
const SWITCH = 'UPDATE hint_switch SET deaf = $1';
const SWALLOWED = 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END::int AS count FROM hint_swallowed';

/** Lets hints be lost, or no more. */
export const loseHints = (url: string, deaf: boolean): Promise<unknown> =>
  asking(url, (client) => client.query(SWITCH, [deaf]));

/** How many hints were lost so far. */
export const hintsLost = (url: string): Promise<number> =>
  asking(url, async (client) => (await client.query<{ count: number }>(SWALLOWED)).rows[0]?.count ?? 0);

/** Several times the pause between two looks for work, and what a busy machine and a full process add to it. */
const PICKED_UP_WITHIN_MS = 3000;

/**
 * Batches that nobody was told of are found by looking.
 * @param entries - the ledger, with when hints were lost from and to.
 * @param swallowed - how many hints were lost.
 */
export function checkPickedUp(entries: readonly LedgerEntry[], swallowed: number): Verdict {
  const of = (wanted: string) => entries.filter(({ kind }) => kind === wanted);
  const ends = of('hears-again').map(({ at }) => at);
  const windows = of('deaf').map(({ at }, index) => [at, ends[index] ?? Number.POSITIVE_INFINITY] as const);
  const firstRun = new Map<string, number>();
  for (const { task, at } of of('began')) {
    const batch = String(task).replace(/#.*/, '');
    if (!firstRun.has(batch)) firstRun.set(batch, at);
  }
  const started = of('acknowledged').filter(
    ({ at, created }) => created === true && windows.some(([from, to]) => at > from && at < to),
  );
  const waits = started.map(
    ({ batch, at }) => (firstRun.get(String(batch)) ?? Number.POSITIVE_INFINITY) - at,
  );
  const slowestMs = Math.max(0, ...waits);
  return {
    invariant: 'picked up though NOTIFY is lost',
    held: swallowed > 0 && waits.length > 0 && slowestMs <= PICKED_UP_WITHIN_MS,
    evidence: `${swallowed} hints lost; ${waits.length} batches started meanwhile, the slowest begun after ${slowestMs.toFixed(0)} ms`,
  };
}
