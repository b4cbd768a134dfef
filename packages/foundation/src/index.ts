/**
 * What all Millrace parts stand on: a clock and randomness that can be held, option resolving, the error
 * registry, the service lifecycle, and the vocabulary every part speaks. Imports nothing.
 *
 * @packageDocumentation
 */
export { type CancelTimer, type Clock, sleep } from './clock.js';
export {
  defineErrors,
  type ErrorRegistry,
  type ErrorSpec,
  type MessageDetails,
  MillraceError,
  type MillraceErrorOptions,
  printable,
} from './error-registry.js';
export { ERRORS, NonRetryableError, RateLimitedError } from './errors.js';
export { Lifecycle, type LifecycleSteps, type Service, type ServiceState } from './lifecycle.js';
export { type LevelledLogger, type LineSink, type LogLevel, loggerOver } from './logger.js';
export {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  numberOption,
  objectOption,
  oneOfOption,
  sectionOption,
  textOption,
} from './option-rules.js';
export {
  type CompleteOptions,
  type OptionConstraint,
  type OptionRule,
  type OptionRules,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
} from './options.js';
export { Repeating, type RepeatingOptions } from './repeating.js';
export { type Rng, seededRng } from './rng.js';
export { bytesBeyond, type Encoded, encodeJson } from './rules/json.js';
export { nearestKey } from './rules/nearest-key.js';
export { traceIdOf } from './rules/trace-id.js';
export { StoreLook, type StoreLookEnvironment } from './store-look.js';
export { systemClock } from './system/clock.js';
export { processName } from './system/process-name.js';
export { systemRng } from './system/rng.js';
export { formatScopedId, NO_TENANT, parseScopedId, type ScopedId } from './tenant.js';
export {
  type BackoffStrategy,
  type Logger,
  type RetryPolicy,
  silentLogger,
  type WorkContext,
  type WorkError,
} from './vocabulary.js';
export { TIMED_OUT, withDeadline } from './with-deadline.js';
export { toWorkError } from './work-error.js';
