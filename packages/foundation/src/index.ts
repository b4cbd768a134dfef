/**
 * Shared building blocks: an injectable clock and random source, option validation, the error registry, the service
 * lifecycle, common types, and the pieces that several packages need (backoff, rate limit, heap, list, leases, loops).
 * Imports nothing of ours.
 *
 * @packageDocumentation
 */
export { type BackoffStrategy, backoffMs, type FailedAttempt, withJitter } from './backoff.js';
export { CachedRead, type CachedReadOptions } from './cached-read.js';
export {
  beginWait,
  type CancelTimer,
  type Clock,
  processName,
  sleep,
  systemClock,
  TIMED_OUT,
  type Wait,
  type WaitLimits,
  withDeadline,
} from './clock.js';
export {
  defineErrors,
  ERRORS,
  type ErrorRegistry,
  type ErrorSpec,
  type MessageDetails,
  MillraceError,
  type MillraceErrorOptions,
  NonRetryableError,
  optionInvalid,
  printable,
  RateLimitedError,
  toWorkError,
  type WorkError,
} from './errors.js';
export {
  defaultBurst,
  emissionUs,
  type GcraBucket,
  nextSlotUs,
  tatAfterRateChange,
  tatAfterStart,
  tokensAt,
} from './gcra.js';
export { IndexedHeap } from './indexed-heap.js';
export { bytesBeyond, type Encoded, encodeJson } from './json.js';
export { HeldLeases, type HeldLeasesOptions } from './leases.js';
export { Lifecycle, type LifecycleSteps, type Service, type ServiceState } from './lifecycle.js';
export { type Linked, LinkedList } from './linked-list.js';
export {
  type LevelledLogger,
  type LineSink,
  type Logger,
  type LogLevel,
  loggerOver,
  silentLogger,
} from './logger.js';
export { type Loop, type LoopKit, loop } from './loop.js';
export {
  anyOption,
  booleanOption,
  type CompleteOptions,
  durationOption,
  functionOption,
  integerOption,
  nearestKey,
  numberOption,
  type OptionConstraint,
  type OptionRule,
  type OptionRules,
  type OptionSpec,
  objectOption,
  oneOfOption,
  type PartialOptions,
  resolveOptions,
  sectionOption,
  textOption,
} from './options.js';
export { type Rng, seededRng, systemRng } from './rng.js';
export { formatScopedId, NO_TENANT, parseScopedId, type ScopedId } from './tenant.js';
export { type RetryPolicy, traceIdOf, type WorkContext } from './work.js';
