import type { RetryPolicy, WorkContext } from '@millrace/foundation';
import type { Backing, Command, Envelope, OnLost } from './model.js';
import type { OpId } from './op-id.js';
import type { Outcome } from './outcome.js';
import type { BackingPort } from './ports.js';
import type { ProtectionOptions } from './protection/options.js';

/** What an inline handler is given besides the command. */
export interface InlineContext extends WorkContext {
  readonly opId: OpId;
  readonly tenant: string;
  readonly traceparent: string | undefined;
  /** Tries left after this one. */
  readonly retriesLeft: number;
}

/**
 * Does the work of a command in this process. Returns an Outcome, or anything else that is the data of an `Ok`. Throws: tried again while retries are
 * left; NonRetryableError: failed at once; RateLimitedError: tried again when it says. `P` is what it takes the payload for.
 */
export type InlineHandler<P = unknown> = (command: Command<P>, context: InlineContext) => unknown;

/** What every route may ask for. */
export interface RouteOptions {
  /** May be run or handed over again without harm: needed for hedging, and for handing over again what a backing lost. */
  readonly idempotent?: boolean | undefined;
  /** Limits of time, rate, calls at once and failures for what it calls. */
  readonly protect?: ProtectionOptions | undefined;
}

/** What an inline route may ask for. */
export interface InlineOptions extends RouteOptions {
  /** Longest run of one try (`maxProcessingMs` of the executor). */
  readonly timeoutMs?: number | undefined;
  /** How often a failed try is repeated (`maxRetries` of the executor), and when. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** What becomes of an operation whose instance died: `retry` (at least once, the default) or `fail` (at most once). */
  readonly onLost?: OnLost | undefined;
}

/** A route that runs in this process. */
export interface InlineRoute {
  readonly kind: 'inline';
  readonly run: InlineHandler;
  readonly options: InlineOptions;
}

/** A route that hands its commands to another part. */
export interface BackedRoute {
  /** Of the adapter that takes them. */
  readonly kind: string;
  /** What that adapter needs to know; made by `bulk` or `batch`. */
  readonly definition: object;
  readonly options: RouteOptions;
}

/** Where commands of one kind go. */
export type Route = InlineRoute | BackedRoute;

/** Routes by `DOMAIN.EVENT_TYPE`. */
export type Routes = Readonly<Record<string, Route>>;

/** A part that takes commands over. */
export interface BackingAdapter extends BackingPort {
  readonly kind: string;
  /**
   * Checks a route when the executor is made.
   * @throws MillraceError `ROUTE_INVALID`.
   */
  check?(name: string, route: BackedRoute): void;
  /** Hands a command over. Repeated with the same opId it changes nothing. */
  submit(envelope: Envelope, route: BackedRoute): Promise<Backing>;
  /** Tells of ends that it hears of, so that nobody has to wait for the next look. */
  onSettled?(listener: (opId: OpId, outcome: Outcome) => void): () => void;
}
