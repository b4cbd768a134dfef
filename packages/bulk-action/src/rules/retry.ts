import type { RetryPolicy, WorkError } from '@millrace/foundation';
import type { Outcome } from '../lease.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { NonReadyReason } from '../states.js';
import { type BackoffBounds, DEFAULT_JITTER, errorBackoffMs, exponentialMs, jitteredMs } from './backoff.js';
import { cutText, signatureOf } from './signature.js';
import { throttleBackoff } from './throttle-backoff.js';

/** Longest message that is kept of an error. */
const MESSAGE_CHARACTERS_MAX = 2000;
/** Longest wait that a called service may ask for: beyond a day its answer is taken for a mistake. */
const RETRY_AFTER_MAX_MS = 86_400_000;

/** A failed try and what decides about it. */
export interface FailedTryFacts {
  readonly error: WorkError;
  readonly processorType: string;
  /** Retries spent before this try. */
  readonly retryCount: number;
  /** The processor's own; the configuration's otherwise. */
  readonly policy: RetryPolicy | undefined;
  readonly config: ResolvedBulkActionConfig;
  /** Of [0, 1): the jitter of the back-off. */
  readonly random: number;
}

/**
 * Decides what a failed try comes to: again later, or failed for good. A throttle and a missing processor are not the
 * job's fault and spend no retry; they end by the job's deadline or the group's timeout.
 * @param facts - see FailedTryFacts.
 * @returns the outcome to settle with; its message is cut to 2,000 characters.
 */
export function decideOutcome(facts: FailedTryFacts): Outcome {
  const { error: failed, processorType, retryCount, policy, config, random } = facts;
  const error = { code: failed.code, message: cutText(failed.message, MESSAGE_CHARACTERS_MAX) };
  if (failed.code === 'RATE_LIMITED') {
    const retryAfterMs = askedDelayMs(failed);
    const facts = { nonReadyCount: 0, groupRps: 1, retryAfterMs, random };
    const { delayMs } = throttleBackoff(facts, config.congestion);
    const reason = NonReadyReason.API_THROTTLED;
    const throttle = { ...(retryAfterMs !== undefined && { retryAfterMs }), random };
    return { kind: 'retry', error, reason, delayMs, spendsRetry: false, throttle };
  }
  if (failed.code === 'LEASE_LOST') {
    // The store was away, not the work: like an expired lease it spends no retry.
    const delayMs = errorBackoffMs(0, config.backpressure, random);
    return { kind: 'retry', error, reason: NonReadyReason.ORPHANED, delayMs, spendsRetry: false };
  }
  if (failed.code === 'PROCESSOR_NOT_FOUND') {
    const delayMs = errorBackoffMs(0, config.backpressure, random);
    return { kind: 'retry', error, reason: NonReadyReason.NO_PROCESSOR, delayMs, spendsRetry: false };
  }
  if (failed.retryable && retryCount < (policy?.retries ?? config.workerPool.maxRetryCount)) {
    const delayMs = askedDelayMs(failed) ?? policyDelayMs(facts);
    return { kind: 'retry', error, reason: NonReadyReason.TRANSIENT_ERROR, delayMs, spendsRetry: true };
  }
  const signature = signatureOf(processorType, error.code, error.message);
  return { kind: 'failure', error, dead: failed.retryable, signature };
}

/** What the called service asked for; rounded up, because earlier than asked would be refused again. */
function askedDelayMs({ retryAfterMs }: WorkError): number | undefined {
  if (retryAfterMs === undefined || !(retryAfterMs >= 0)) return undefined;
  return Math.min(RETRY_AFTER_MAX_MS, Math.ceil(retryAfterMs));
}

function policyDelayMs({ error, retryCount, policy, config, random }: FailedTryFacts): number {
  const bounds = config.backpressure;
  const delay = strategyDelayMs(policy?.backoff, retryCount, error, bounds);
  const { jitter = DEFAULT_JITTER } = policy ?? {};
  const share = jitter >= 0 && jitter <= 1 ? jitter : DEFAULT_JITTER;
  return jitteredMs(Math.min(bounds.maxBackoffMs, delay), share, random);
}

function strategyDelayMs(
  backoff: RetryPolicy['backoff'],
  retryCount: number,
  error: WorkError,
  bounds: BackoffBounds,
): number {
  const attempt = retryCount + 1;
  if (backoff === 'linear') return bounds.defaultBackoffMs * attempt;
  if (typeof backoff === 'function') {
    const delay = answerOf(() => backoff(attempt, error.cause ?? error));
    if (Number.isFinite(delay) && (delay as number) >= 0) return delay as number;
  }
  return exponentialMs(retryCount, bounds);
}

/** A user's back-off that throws must not lose the outcome of the try. */
function answerOf(ask: () => unknown): unknown {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
