import { type Clock, NO_TENANT, systemClock, traceIdOf } from '@millrace/foundation';
import type { OpId } from './op-id.js';
import type { Outcome, RetryOutcome } from './outcome.js';
import type { FinalState, OperationState } from './states.js';

/** What somebody wants done; `P` is what its payload is taken for. */
export interface Command<P = unknown> {
  /** 1 to 50 of `A–Z`, `0–9` and `_`; with the event type it names the route. */
  readonly domain: string;
  readonly eventType: string;
  /** What it is about, in the words of the business; 1 to 100 characters. */
  readonly bizKey: string;
  /** The same for every repetition of one request; 1 to 255 characters. */
  readonly idemKey: string;
  /** Anything JSON can carry. */
  readonly payload: P;
}

/** A command as a caller gives it. */
export interface CommandInput extends Omit<Command, 'idemKey' | 'payload'> {
  /** Made up unless given: the request can then not be repeated. */
  readonly idemKey?: string | undefined;
  /** `null` unless given. */
  readonly payload?: unknown;
}

/** A command on its way, with all that travels with it. */
export interface Envelope {
  readonly opId: OpId;
  /** '' for none. */
  readonly tenant: string;
  readonly traceparent: string | undefined;
  readonly command: Command;
  readonly acceptedAt: Date;
}

/** Makes envelopes. */
export const Envelope = Object.freeze({
  /**
   * Wraps a command that is accepted now.
   * @param options - tenant and trace; the clock that dates it (the machine's).
   */
  now(
    opId: OpId,
    command: Command,
    options: {
      readonly tenant?: string | undefined;
      readonly traceparent?: string | undefined;
      readonly clock?: Clock | undefined;
    } = {},
  ): Envelope {
    const { tenant = NO_TENANT, traceparent, clock = systemClock } = options;
    return Object.freeze({ opId, tenant, traceparent, command, acceptedAt: new Date(clock.now()) });
  },
});

/** Work in another part that an operation stands for: it has no lease, and ends when that work does. */
export interface Backing {
  /** `bulk`, `batch`, or what an executor of your own calls it. */
  readonly kind: string;
  /** What that part knows it by. */
  readonly ref: string;
}

/** What becomes of an operation whose instance died while it ran. */
export type OnLost = 'retry' | 'fail';

/** What a route says of its operations. */
export interface RouteTraits {
  /** How it is run: `inline`, or the kind of backing. */
  readonly kind: string;
  /** Tries: 1 + retries. */
  readonly attemptsMax: number;
  readonly onLost: OnLost;
  /** May be run or handed over again without harm. */
  readonly idempotent: boolean;
}

/** An operation as people see it. */
export interface Operation {
  readonly opId: OpId;
  readonly tenant: string;
  readonly traceparent: string | undefined;
  readonly domain: string;
  readonly eventType: string;
  readonly bizKey: string;
  readonly idemKey: string;
  readonly state: OperationState;
  /** What came of it; the last `Retry` while it waits for another try; undefined before. */
  readonly outcome: Outcome | undefined;
  /** Tries begun, and how many there may be. */
  readonly attempts: number;
  readonly attemptsMax: number;
  /** How often it was refused before a try began. */
  readonly refusals: number;
  /** The instance that runs it now. */
  readonly owner: string | undefined;
  /** Waiting for a try: not before this time. */
  readonly dueAt: Date | undefined;
  readonly backing: Backing | undefined;
  /** FAILED by its work, not by a cancellation. */
  readonly deadLetter: boolean;
  readonly acceptedAt: Date;
  readonly startedAt: Date | undefined;
  readonly updatedAt: Date;
  readonly endedAt: Date | undefined;
}

/** What proves that an instance owns an operation: a later owner has a higher token. */
export interface RunRef {
  readonly opId: OpId;
  readonly token: number;
}

/** An operation that this instance owns, about to be tried. */
export interface OwnedOperation extends RunRef {
  readonly envelope: Envelope;
  readonly traits: RouteTraits;
  /** The number of the try, from 1. */
  readonly attempt: number;
  /** How often it was refused before. */
  readonly refusals: number;
}

/** The end of an operation. */
export interface Ending {
  readonly state: FinalState;
  readonly outcome: Outcome;
  readonly deadLetter: boolean;
}

/** A new operation, which its store keeps as PENDING and owned. */
export interface NewOperation {
  readonly envelope: Envelope;
  readonly traits: RouteTraits;
  /** SHA-256 of the canonical payload, in hexadecimal. */
  readonly bodyHash: string;
  readonly owner: string;
  readonly leaseMs: number;
  /** Time for which the idempotency key is kept. */
  readonly keyTtlMs: number;
}

/** The result of an attempt, as it is written to the store. */
export type Settlement =
  | ({ readonly kind: 'final' } & Ending)
  /** The operation waits without an owner. `refused`: no attempt began, so none is counted. */
  | {
      readonly kind: 'retry';
      readonly outcome: RetryOutcome;
      readonly delayMs: number;
      readonly refused: boolean;
    }
  | { readonly kind: 'backed'; readonly backing: Backing }
  /** Released by an instance that stops: due at once, and the attempt is not counted. */
  | { readonly kind: 'released' };

/** A part of a list; ask again with `cursor` until there is none. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/** Which operations; all of them without one. */
export interface OperationFilter {
  readonly tenant?: string | undefined;
  readonly domain?: string | undefined;
  readonly eventType?: string | undefined;
  readonly bizKey?: string | undefined;
  readonly state?: OperationState | undefined;
  /** Only dead letters. */
  readonly deadLetter?: boolean | undefined;
}

/** The fields of every log line about an operation. Without a trace there is no `traceId`. */
export interface OperationFields {
  readonly opId: OpId;
  readonly traceId?: string;
}

/** Returns the fields with which log lines about an operation begin. */
export function operationFields(of: Pick<Envelope, 'opId' | 'traceparent'>): OperationFields {
  const traceId = traceIdOf(of.traceparent);
  return traceId === undefined ? { opId: of.opId } : { opId: of.opId, traceId };
}
