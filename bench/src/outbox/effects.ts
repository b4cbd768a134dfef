import { administer } from './server.js';

/** What a handler with an effect does: one row into the table of a user who knows nothing of queues. */
export const INSERT_EFFECT = 'INSERT INTO public.effect (note) VALUES ($1)';
/** Prepared under this name by all, since each of them prepares its own statements. */
export const EFFECT_NAME = 'bench-effect';

/** Makes the user's table, or empties it. */
export async function emptyEffects(): Promise<void> {
  await administer(
    'CREATE TABLE IF NOT EXISTS public.effect (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL); TRUNCATE public.effect',
  );
}

/** How many effects there are. */
export async function countEffects(): Promise<number> {
  const [row] = await administer('SELECT count(*)::integer AS count FROM public.effect');
  return Number(row?.count);
}
