import {
  type Clock,
  durationOption,
  type Logger,
  objectOption,
  type Rng,
  silentLogger,
  systemClock,
  textOption,
} from '@millrace/foundation';

/** Options of both drivers. */
export interface DatabaseOptions {
  /** First schema of the search path, before `public` (on a server: the user's own search path). */
  readonly schema?: string | undefined;
  /** Time limit of a statement outside a transaction, the wait for a connection included. PGlite cannot end a running statement: only the wait counts. */
  readonly callTimeoutMs?: number | undefined;
  /** Time limit of a transaction, the wait for a connection included. */
  readonly transactionTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
}

/** The defaults of both drivers. */
export const DATABASE_DEFAULTS = {
  callTimeoutMs: 5_000,
  transactionTimeoutMs: 30_000,
  clock: systemClock,
  logger: silentLogger,
} as const;

export const duration = durationOption({ min: 1, max: 2 ** 31 - 1 });

/** The rules of both drivers. */
export const DATABASE_RULES = {
  schema: textOption(),
  callTimeoutMs: duration,
  transactionTimeoutMs: duration,
  clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
  rng: objectOption('an Rng', 'next', 'integer'),
  logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error'),
};
