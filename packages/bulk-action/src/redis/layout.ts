import { ERRORS } from '@millrace/redis';

/** The layout of the keys that this release writes; a process refuses a higher one. Fields may be added within one. */
export const LAYOUT = 1;

/** What `lua/settings.lua` answers with when the layout is higher. */
const REFUSED = /^LAYOUT (\d+)/;

/**
 * The refusal of a store that a newer release has changed.
 * @param found - the layout of its data.
 * @param cause - what Redis said.
 */
export const layoutNewer = (found: number, cause?: unknown) =>
  ERRORS.create('REDIS_LAYOUT_NEWER', { store: 'bulk-action', found, known: LAYOUT }, { cause });

/**
 * The layout that a script has refused to work on.
 * @param error - of a script.
 * @returns undefined for any other error.
 */
export function refusedLayout(error: unknown): number | undefined {
  if (!ERRORS.is(error, 'REDIS_REFUSED')) return undefined;
  const found = REFUSED.exec(String(error.details.reason))?.[1];
  return found === undefined ? undefined : Number(found);
}
