import {
  type Clock,
  durationOption,
  ERRORS as FOUNDATION_ERRORS,
  integerOption,
  type Logger,
  numberOption,
  type Rng,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { Backing, Envelope, RouteTraits } from './model.js';
import type { TryOptions } from './options.js';
import { Outcome, type RetryOutcome } from './outcome.js';
import { type ResolvedProtectionOptions, resolveProtectionOptions } from './protection/options.js';
import { Protection } from './protection/protection.js';
import type { BackedRoute, BackingAdapter, InlineHandler, InlineRoute, Route } from './routes.js';
import { backoffMs } from './rules/backoff.js';

/** What a route is made ready with. */
export interface PreparedRouteSetup extends TryOptions {
  readonly name: string;
  readonly route: Route;
  /** Takes its commands over; undefined for inline routes. */
  readonly adapter: BackingAdapter | undefined;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
}

/** Of an inline route in one instance, unless its protection says otherwise: more wait, and more than those are refused. */
const INLINE_BULKHEAD = { concurrency: 1_000, queueMax: 10_000 };

const REFUSED_SPREAD = 0.5;

const COUNT = integerOption({ min: 0, max: 1_000 });
const DURATION = durationOption({ min: 1, max: 86_400_000 });
const SHARE = numberOption({ min: 0, max: 1 });

/** A route, checked, with its protection and its tries worked out. */
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

  /** Does the work of an inline route. */
  get handler(): InlineHandler {
    return (this.#setup.route as InlineRoute).run;
  }

  /** Hands a command over. */
  submit(envelope: Envelope): Promise<Backing> {
    const { adapter, route } = this.#setup;
    return (adapter as BackingAdapter).submit(envelope, route as BackedRoute);
  }

  /**
   * How long to wait after a try that failed.
   * @param attempt - its number, from 1.
   */
  delayMs(attempt: number, error: unknown): number {
    const { rng, route, ...tries } = this.#setup;
    const retry = route.kind === 'inline' ? (route as InlineRoute).options.retry : undefined;
    const settings = { ...tries, backoffJitter: retry?.jitter ?? tries.backoffJitter };
    const { backoff = 'exponential' } = retry ?? {};
    if (backoff === 'exponential') return backoffMs(attempt, settings, rng.next());
    const linear = () => settings.backoffBaseMs * attempt;
    const delayMs = backoff === 'linear' ? linear() : askedDelay(backoff, attempt, error, linear);
    return Math.min(settings.backoffMaxMs, Math.round(delayMs * (1 + settings.backoffJitter * rng.next())));
  }

  /** A delay that many were told, with up to half of it more. */
  spread(delayMs: number): number {
    return Math.round(delayMs * (1 + REFUSED_SPREAD * this.#setup.rng.next()));
  }

  /** What comes of a try that took too long. */
  timedOut(attempt: number): RetryOutcome {
    const error = ERRORS.create('OPERATION_TIMEOUT', { timeoutMs: this.#timeoutMs });
    const nextRetryAfterMs = this.delayMs(attempt, error);
    return Outcome.retry({ reason: 'TIMEOUT', attemptCount: attempt, nextRetryAfterMs });
  }
}

/** A function of the user's that answers nonsense must not keep an operation waiting for ever. */
function askedDelay(
  backoff: (attempt: number, error: unknown) => number,
  attempt: number,
  error: unknown,
  otherwise: () => number,
): number {
  try {
    const delayMs = backoff(attempt, error);
    return Number.isFinite(delayMs) && delayMs >= 0 ? delayMs : otherwise();
  } catch {
    return otherwise();
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
