import type { RetryPolicy, WorkContext } from '@millrace/foundation';
import type { Backing, Command, Envelope, OnLost } from './model.js';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';
import type { BackingPort } from './ports.js';
import type { ProtectionOptions } from './protection/options.js';

/** The context of an inline handler. */
export interface InlineContext extends WorkContext {
  readonly opId: OpId;
  readonly tenant: string;
  readonly traceparent: string | undefined;
  /** Attempts left after this one. */
  readonly retriesLeft: number;
}

/**
 * Does the work of a command in this process. Returns an Outcome, or any other value as the data of an `Ok`. A throw is
 * retried while attempts are left, a RateLimitedError after its time; a NonRetryableError fails at once. `P` is the
 * assumed type of the payload, which is not checked.
 */
export type InlineHandler<P = unknown> = (command: Command<P>, context: InlineContext) => unknown;

/** Options of every route. */
export interface RouteOptions {
  /** The work may run more than once without harm (false). Required for hedges and to hand lost work over again. */
  readonly idempotent?: boolean | undefined;
  /** Timeout, rate limit, bulkhead, circuit breaker and hedges (none). */
  readonly protect?: ProtectionOptions | undefined;
}

/** Options of an inline route. */
export interface InlineOptions extends RouteOptions {
  /** Timeout of an attempt (`maxProcessingMs` of the executor). */
  readonly timeoutMs?: number | undefined;
  /** Number and delays of retries (`maxRetries` and backoff of the executor). */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** What happens to an operation whose instance died (`retry`: at least once). `fail` runs it at most once. */
  readonly onLost?: OnLost | undefined;
}

/** A route whose work runs in this process. */
export interface InlineRoute {
  readonly kind: 'inline';
  readonly run: InlineHandler;
  readonly options: InlineOptions;
}

/** A route that hands its commands over to another part. */
export interface BackedRoute {
  /** Kind of the adapter that the commands go to. */
  readonly kind: string;
  /** Definition for that adapter, made by `bulk` or `batch`. */
  readonly definition: object;
  readonly options: RouteOptions;
}

/** The work of one kind of command. */
export type Route = InlineRoute | BackedRoute;

/** Routes by `DOMAIN.EVENT_TYPE`. */
export type Routes = Readonly<Record<string, Route>>;

/** Connects a part that commands can be handed over to. */
export interface BackingAdapter extends BackingPort {
  readonly kind: string;
  /**
   * Validates a route when the executor is made.
   * @throws MillraceError `ROUTE_INVALID`.
   */
  check?(name: string, route: BackedRoute): void;
  /** Hands a command over. A repetition with the same opId changes nothing. */
  submit(envelope: Envelope, route: BackedRoute): Promise<Backing>;
  /** Subscribes to the ends of handed-over work, which makes them known before the next check. */
  onSettled?(listener: (opId: OpId, outcome: Outcome) => void): () => void;
}
