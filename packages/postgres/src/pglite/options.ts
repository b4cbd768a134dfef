import {
  type CompleteOptions,
  type OptionSpec,
  resolveOptions,
  systemRng,
  textOption,
} from '@millrace/foundation';
import { DATABASE_DEFAULTS, DATABASE_RULES, type DatabaseOptions, duration } from '../options.js';

/** Options of the embedded database. */
export interface PgliteDatabaseOptions extends DatabaseOptions {
  /** Folder of the data, created if it is missing. Without it the data is in memory and gone with the process. */
  readonly dataDir?: string | undefined;
  /** Age at which a warning is logged for a transaction that other calls wait for (2 s). */
  readonly slowTransactionMs?: number | undefined;
}

/** The options with every default filled in. */
export type ResolvedPgliteDatabaseOptions = CompleteOptions<PgliteDatabaseOptions, 'dataDir' | 'schema'>;

/** The defaults. */
export const PGLITE_DATABASE_DEFAULTS = {
  ...DATABASE_DEFAULTS,
  slowTransactionMs: 2_000,
} as const satisfies Partial<ResolvedPgliteDatabaseOptions>;

const SPEC: OptionSpec<ResolvedPgliteDatabaseOptions> = {
  owner: 'PgliteDatabase',
  defaults: PGLITE_DATABASE_DEFAULTS,
  rules: { ...DATABASE_RULES, dataDir: textOption(), slowTransactionMs: duration },
};

/**
 * Completes and freezes the options of an embedded database.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolvePgliteDatabaseOptions(
  given: PgliteDatabaseOptions = {},
): ResolvedPgliteDatabaseOptions {
  return resolveOptions(SPEC, { ...given, rng: given.rng ?? systemRng() });
}
