import { integerOption, type OptionRule, resolveOptions } from '@millrace/foundation';
import { isCursor } from './rules/shard-pages.js';

/** Which part of a list. */
export interface PageRequest {
  /** Of the page before; the first page without it. */
  readonly cursor?: string | undefined;
  /** At most so many, 1 to 1000 (100). */
  readonly limit?: number | undefined;
}

/** The cursor over many shards holds one of each. */
const CURSOR_CHARACTERS_MAX = 20_000;

// It may come from anywhere, and a store counts with it: a negative one would keep it busy for ever.
const cursorOption: OptionRule = {
  expected: 'the cursor of a page before',
  accepts: (value) => typeof value === 'string' && value.length <= CURSOR_CHARACTERS_MAX && isCursor(value),
};
const RULES = { cursor: cursorOption, limit: integerOption({ min: 1, max: 1000 }) };

/**
 * Completes and checks what a caller asks of a list.
 * @param owner - the method, for messages.
 * @param request - what the caller gave.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolvePage = (
  owner: string,
  request: PageRequest,
): { readonly limit: number; readonly cursor?: string } =>
  resolveOptions<{ limit: number; cursor?: string }>(
    { owner, defaults: { limit: 100 }, rules: RULES },
    request as never,
  );
