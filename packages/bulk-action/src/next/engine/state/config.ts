import {
  type BulkActionConfig,
  type ResolvedBulkActionConfig,
  resolveBulkActionConfig,
} from '../../../options.js';

/** Options of the engine that the engine in the store does not have. */
export interface NewOptions {
  /** Time after the last job of an open group until its round ends. */
  readonly idleCompleteMs: number;
  /** Finished jobs that are kept as recent ones in each second, and altogether. */
  readonly recentPerSecond: number;
  readonly recentMax: number;
  /** Bytes of the attempts that are kept of a job. */
  readonly attemptBytesMax: number;
  /** Dead letters that are kept. Beyond, the oldest go. */
  readonly deadLettersMax: number;
  /** Bytes of loaded chunks. */
  readonly windowBytesMax: number;
}

const NEW_DEFAULTS: NewOptions = {
  idleCompleteMs: 1_000,
  recentPerSecond: 50,
  recentMax: 1_000,
  attemptBytesMax: 4_096,
  deadLettersMax: 1_000_000,
  windowBytesMax: 64 * 2 ** 20,
};

/** The configuration of an engine. */
export type EngineConfig = ResolvedBulkActionConfig & NewOptions;

/** Completes a configuration. @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
export const resolveEngineConfig = (
  config: BulkActionConfig = {},
  options: Partial<NewOptions> = {},
): EngineConfig => ({ ...resolveBulkActionConfig(config), ...NEW_DEFAULTS, ...options });
