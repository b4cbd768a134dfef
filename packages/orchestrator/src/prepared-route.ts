import {
  backoffMs,
  type Clock,
  durationOption,
  ERRORS as FOUNDATION_ERRORS,
  integerOption,
  type Logger,
  numberOption,
  type Rng,
  withJitter,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { Backing, Envelope, RouteTraits } from './model.js';
import type { AttemptOptions } from './options.js';
import { Outcome, type RetryOutcome } from './outcome.js';
import { type ResolvedProtectionOptions, resolveProtectionOptions } from './protection/options.js';
import { Protection } from './protection/protection.js';
import type { BackedRoute, BackingAdapter, InlineHandler, InlineRoute, Route } from './routes.js';

/** The definition of a route and its dependencies. */
export interface PreparedRouteSetup extends AttemptOptions {
  readonly name: string;
  readonly route: Route;
  /** Submits its commands. undefined for inline routes. */
  readonly adapter: BackingAdapter | undefined;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
}

/** The bulkhead of an inline route whose protection sets none. It counts the calls of one instance. */
const INLINE_BULKHEAD = { concurrency: 1_000, queueMax: 10_000 };

/** A refused operation waits up to this share longer, because many get the same delay. */
const REFUSED_JITTER = 0.5;

const COUNT = integerOption({ min: 0, max: 1_000 });
const DURATION = durationOption({ min: 1, max: 86_400_000 });
const SHARE = numberOption({ min: 0, max: 1 });

/** A checked route with its protection and its retries. */
export class PreparedRoute {
  readonly name: string;
  readonly kind: string;
  readonly traits: RouteTraits;
  readonly protection: Protection;
  readonly onRefused: ResolvedProtectionOptions['onRefused'];
  readonly #setup: PreparedRouteSetup;
  readonly #timeoutMs: number | undefined;

  /** @throws MillraceError `ROUTE_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(setup: PreparedRouteSetup) {
    const { name, route, adapter, clock, logger } = setup;
    this.#setup = setup;
    this.name = name;
    this.kind = route.kind;
    const isInline = route.kind === 'inline';
    if (!isInline && !adapter)
      throw ERRORS.create('ROUTE_INVALID', {
        route: name,
        reason: `nothing takes '${route.kind}' work over; give its adapter to the executor as one of backings`,
      });
    const idempotent = route.options.idempotent ?? false;
    const owner = `Route ${name}`;
    const given = resolveProtectionOptions(owner, route.options.protect, { idempotent });
    this.onRefused = given.onRefused;
    const inline = isInline ? (route as InlineRoute).options : undefined;
    checkInline(owner, inline);
    const limits = [given.timeoutMs, inline && (inline.timeoutMs ?? setup.maxProcessingMs)];
    const timeoutMs = Math.min(...limits.filter((limit) => limit !== undefined));
    this.#timeoutMs = Number.isFinite(timeoutMs) ? timeoutMs : undefined;
    const options = {
      ...given,
      ...(this.#timeoutMs !== undefined && { timeoutMs: this.#timeoutMs }),
      ...(inline && { bulkhead: given.bulkhead ?? INLINE_BULKHEAD }),
    };
    this.protection = new Protection({ route: name, options, clock, logger });
    const retries = inline?.retry?.retries ?? setup.maxRetries;
    this.traits = Object.freeze({
      kind: route.kind,
      attemptsMax: 1 + retries,
      onLost: inline?.onLost ?? 'retry',
      idempotent,
    });
    adapter?.check?.(name, route as BackedRoute);
  }

  /** The function of an inline route. */
  get handler(): InlineHandler {
    return (this.#setup.route as InlineRoute).run;
  }

  /** Submits a command to its backing. */
  submit(envelope: Envelope): Promise<Backing> {
    const { adapter, route } = this.#setup;
    return (adapter as BackingAdapter).submit(envelope, route as BackedRoute);
  }

  /**
   * Computes the delay after a failed attempt, with jitter.
   * @param attempt - its number, from 1.
   */
  delayMs(attempt: number, error: unknown): number {
    const { rng, route, backoffBaseMs: baseMs, backoffMaxMs: maxMs, backoffJitter } = this.#setup;
    const retry = route.kind === 'inline' ? (route as InlineRoute).options.retry : undefined;
    const { backoff: strategy = 'exponential', jitter = backoffJitter } = retry ?? {};
    const delayMs = backoffMs({ strategy, attempt, error, baseMs, maxMs, fallback: 'linear' });
    return Math.min(maxMs, Math.round(withJitter(delayMs, jitter, rng.next())));
  }

  /** Computes the delay after a refusal, with jitter. */
  refusedDelayMs(retryAfterMs: number): number {
    return Math.round(withJitter(retryAfterMs, REFUSED_JITTER, this.#setup.rng.next()));
  }

  /** Makes the outcome of an attempt that timed out. */
  timedOut(attempt: number): RetryOutcome {
    const error = ERRORS.create('OPERATION_TIMEOUT', { timeoutMs: this.#timeoutMs });
    const nextRetryAfterMs = this.delayMs(attempt, error);
    return Outcome.retry({ reason: 'TIMEOUT', attemptCount: attempt, nextRetryAfterMs });
  }
}

function checkInline(owner: string, options: InlineRoute['options'] | undefined): void {
  const check = (
    option: string,
    value: unknown,
    rule: { expected: string; accepts(value: unknown): boolean },
  ) => {
    if (value === undefined || rule.accepts(value)) return;
    throw FOUNDATION_ERRORS.create('OPTION_INVALID', {
      owner,
      option,
      expected: rule.expected,
      given: value,
    });
  };
  check('timeoutMs', options?.timeoutMs, DURATION);
  check('retry.retries', options?.retry?.retries, COUNT);
  check('retry.jitter', options?.retry?.jitter, SHARE);
  check('onLost', options?.onLost, {
    expected: "'retry' or 'fail'",
    accepts: (value) => value === 'retry' || value === 'fail',
  });
}
