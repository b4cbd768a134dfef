import { type Clock, NO_TENANT, systemClock, traceIdOf } from '@millrace/foundation';
import type { OpId } from './op-id.js';
import type { Outcome, RetryOutcome } from './outcome.js';
import type { FinalState, OperationState } from './states.js';

/** A request to do work. `P` is the assumed type of the payload, which is not checked. */
export interface Command<P = unknown> {
  /** 1 to 50 of `A–Z`, `0–9` and `_`. With the event type it names the route. */
  readonly domain: string;
  readonly eventType: string;
  /** Name of the business object, 1 to 100 characters. */
  readonly bizKey: string;
  /** Idempotency key: the same for every repetition of a request, 1 to 255 characters. */
  readonly idemKey: string;
  /** A JSON value. */
  readonly payload: P;
}

/** A command as callers submit it. */
export interface CommandInput extends Omit<Command, 'idemKey' | 'payload'> {
  /** Idempotency key (a new one, so that the request cannot be repeated). */
  readonly idemKey?: string | undefined;
  /** A JSON value (null). */
  readonly payload?: unknown;
}

/** A command with its id, tenant and trace. */
export interface Envelope {
  readonly opId: OpId;
  /** '' means none. */
  readonly tenant: string;
  readonly traceparent: string | undefined;
  readonly command: Command;
  readonly acceptedAt: Date;
}

/** Makes envelopes. */
export const Envelope = Object.freeze({
  /**
   * Wraps a command that is accepted now, by `clock` (the machine's).
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

/** Work in another part that an operation was handed over to. The operation has no lease and ends with that work. */
export interface Backing {
  /** `bulk`, `batch`, or the name that an executor of your own gives it. */
  readonly kind: string;
  /** Id of the work in that part. */
  readonly ref: string;
}

/** The fate of an operation whose instance died while it ran. */
export type OnLost = 'retry' | 'fail';

/** Properties of the operations of a route. */
export interface RouteTraits {
  /** `inline` or the kind of backing. */
  readonly kind: string;
  /** Maximum attempts: 1 + retries. */
  readonly attemptsMax: number;
  readonly onLost: OnLost;
  /** The work may run or be handed over more than once without harm. */
  readonly idempotent: boolean;
}

/** The public view of an operation. */
export interface Operation {
  readonly opId: OpId;
  readonly tenant: string;
  readonly traceparent: string | undefined;
  readonly domain: string;
  readonly eventType: string;
  readonly bizKey: string;
  readonly idemKey: string;
  readonly state: OperationState;
  /** The outcome, or the last `Retry` while it waits for an attempt. undefined before. */
  readonly outcome: Outcome | undefined;
  /** Number of attempts begun. */
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Number of refusals by the protection of its route. */
  readonly refusals: number;
  /** Name of the instance that runs it now. */
  readonly owner: string | undefined;
  /** Earliest time of the next attempt, while it waits for one. */
  readonly dueAt: Date | undefined;
  readonly backing: Backing | undefined;
  /** True if its work failed. A cancelled operation is no dead letter. */
  readonly deadLetter: boolean;
  readonly acceptedAt: Date;
  readonly startedAt: Date | undefined;
  readonly updatedAt: Date;
  readonly endedAt: Date | undefined;
}

/** Proof that an instance owns an operation. A later owner has a higher token. */
export interface RunRef {
  readonly opId: OpId;
  readonly token: number;
}

/** An operation that this instance owns, before its attempt. */
export interface OwnedOperation extends RunRef {
  readonly envelope: Envelope;
  readonly traits: RouteTraits;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Number of refusals before. */
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

/** A page of a list. Pass `cursor` for the next one until it is undefined. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/** Selects operations. Without a field all match. */
export interface OperationFilter {
  readonly tenant?: string | undefined;
  readonly domain?: string | undefined;
  readonly eventType?: string | undefined;
  readonly bizKey?: string | undefined;
  readonly state?: OperationState | undefined;
  /** true: only dead letters. */
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
