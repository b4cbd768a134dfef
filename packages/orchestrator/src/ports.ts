import type { Tx } from '@millrace/postgres';
import type {
  Backing,
  Command,
  Ending,
  Envelope,
  NewOperation,
  Operation,
  OperationFilter,
  OwnedOperation,
  Page,
  RouteTraits,
  RunRef,
  Settlement,
} from './model.js';
import type { OpId } from './op-id.js';
import type { FailOutcome, Outcome, RetryOutcome } from './outcome.js';
import type { OpenState, OperationState } from './states.js';

// ── The executor ─────────────────────────────────────────────────────────────────────────────────────────────

/** An attempt of an operation. */
export interface Attempt {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  /** Number of refusals by the protection of the route. */
  readonly refusals: number;
  /** Aborts if the operation is cancelled, its lease is lost, or the instance stops. */
  readonly signal: AbortSignal;
}

/** The reply of an executor: undefined if the work runs in this process, its backing, or the refusal of the attempt. */
export type ExecuteAnswer = undefined | { readonly backing: Backing } | { readonly refused: RetryOutcome };

/** The reason why a command is rejected before it is stored. */
export interface Refusal {
  readonly reason: 'RATE_LIMIT' | 'CB_OPEN' | 'BULKHEAD_FULL';
  readonly retryAfterMs: number;
}

/**
 * Called with the outcome of an attempt.
 * @param refused - true if the work never began. Its `Retry` then is a refusal, which counts as no attempt.
 */
export type SettledListener = (opId: OpId, outcome: Outcome, refused?: boolean) => void;

/** Does the work. Only the first three methods are required. */
export interface Executor {
  /** Begins an attempt without waiting for its end. A throw is a failure of the executor, and final. */
  // biome-ignore lint/suspicious/noConfusingVoidType: an executor without a reply is a function that returns nothing.
  execute(envelope: Envelope, attempt: Attempt): ExecuteAnswer | void | Promise<ExecuteAnswer | void>;
  /**
   * Returns the state of the latest attempt of an operation.
   * @throws MillraceError `OPERATION_NOT_FOUND`.
   */
  getState(opId: OpId): OperationState | Promise<OperationState>;
  /**
   * Returns the outcome of the latest attempt.
   * @throws MillraceError `OPERATION_NOT_TERMINAL` before its end, `OPERATION_NOT_FOUND`.
   */
  getOutcome(opId: OpId): Outcome | Promise<Outcome>;
  /**
   * Subscribes to the ends of attempts in this process and of backings. Without this method the state is polled.
   * @returns a function that unsubscribes.
   */
  onSettled?(listener: SettledListener): () => void;
  /**
   * Returns the properties of the operations of a route.
   * @throws MillraceError `ROUTE_NOT_FOUND`.
   */
  traits?(command: Pick<Command, 'domain' | 'eventType'>): RouteTraits;
  /** Called before a command is stored. An admitted command holds its place until `execute` or `withdraw`. */
  admit?(envelope: Envelope): Refusal | undefined;
  /** Releases the place of `admit` for an operation that will not be executed. */
  withdraw?(opId: OpId): void;
  /** `DOMAIN.EVENT_TYPE` of all its routes. Without it the executor gets every operation. */
  readonly routeNames?: readonly string[];
  /** The kinds of work that may stand behind operations. */
  readonly backings?: ReadonlyMap<string, BackingPort>;
}

/** The state of the work behind an operation. */
export type BackingLook =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'gone' };

/** One kind of work behind operations. */
export interface BackingPort {
  /** Checks many operations in one call. One that is missing in the reply is checked again later. */
  look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>>;
  /** Cancels the work. Does nothing if it has ended or never began. Safe to repeat. */
  cancel(operation: RoutedOperation): Promise<void>;
}

// ── The store ────────────────────────────────────────────────────────────────────────────────────────────────

/** The result of `accept`. */
export type AcceptAnswer =
  | { readonly kind: 'accepted'; readonly token: number }
  /** The key belongs to an operation with the same body. */
  | { readonly kind: 'known'; readonly operation: Operation }
  /** The key belongs to an operation with another body. */
  | { readonly kind: 'conflict'; readonly opId: OpId };

/** The result of a settlement. */
export type SettleAnswer =
  /** Written now, or before by a call whose reply was lost. `waited`: another instance waits for it. */
  | { readonly kind: 'settled'; readonly operation: Operation; readonly waited: boolean }
  /** Nothing was changed, because the operation has another owner or has ended. */
  | { readonly kind: 'refused'; readonly operation: Operation | undefined };

/** A request for due operations. */
export interface ClaimRequest {
  readonly owner: string;
  readonly leaseMs: number;
  readonly limit: number;
  /** `DOMAIN.EVENT_TYPE` of the routes that this instance can run (all). */
  readonly routes?: readonly string[] | undefined;
}

/** Operations that an instance owns. Every method checks the token and is safe to repeat. */
export interface Runs {
  /**
   * Stores a new operation, or returns the one that has its key. A repetition with the same opId has the same result.
   * @param timeoutMs - longest wait.
   */
  accept(operation: NewOperation, timeoutMs?: number): Promise<AcceptAnswer>;
  /** PENDING → IN_PROGRESS. Skips operations that have another owner. */
  begin(refs: readonly RunRef[]): Promise<void>;
  /** Writes the result of an attempt. */
  settle(ref: RunRef, settlement: Settlement): Promise<SettleAnswer>;
  /** Extends leases. Returns the operations that have another owner. */
  extend(refs: readonly RunRef[], leaseMs: number): Promise<ReadonlySet<OpId>>;
  /** Claims operations without an owner whose next attempt is due, the longest waiting first. */
  claim(request: ClaimRequest): Promise<readonly OwnedOperation[]>;
}

/** An operation whose backing can be found, even if the store does not have it yet. */
export interface RoutedOperation {
  readonly opId: OpId;
  readonly tenant: string;
  readonly domain: string;
  readonly eventType: string;
  /** Its backing, if the store has it. */
  readonly backing?: Backing | undefined;
}

/** An operation with work behind it. */
export interface BackedOperation extends RoutedOperation {
  readonly backing: Backing;
}

/** The result of a cancellation. */
export type CancelAnswer =
  /** FAILED by this call or by an earlier one. */
  | { readonly kind: 'cancelled'; readonly operation: Operation; readonly waited: boolean }
  /** The outcome is written ahead. Cancel the backing, then call `finalize`. */
  | { readonly kind: 'ahead'; readonly operation: Operation }
  /** It had ended before, with another outcome. */
  | { readonly kind: 'ended'; readonly operation: Operation }
  | { readonly kind: 'unknown' };

/** An operation whose lease expired. */
export interface Reaped {
  readonly operation: Operation;
  /** `released`: it is due again. `failed`: it ended. */
  readonly became: 'released' | 'failed';
  readonly waited: boolean;
}

/** Changes of operations without an owner: backings, cancellation, repairs. */
export interface Repairs {
  /** Returns operations with a backing of this kind that have not ended, in the order of their ids. */
  backed(kind: string, after: OpId | undefined, limit: number): Promise<readonly BackedOperation[]>;
  /**
   * Ends an operation whose backing has ended. An outcome written ahead counts instead of `ending`.
   * @param tx - a transaction in the database of the operations, which the end becomes part of.
   */
  endBacked(opId: OpId, ending: Ending, tx?: Tx): Promise<SettleAnswer>;
  /** Makes an operation whose backing is gone due again. Returns false if nothing was changed. */
  dropBacking(opId: OpId): Promise<boolean>;
  /**
   * Ends an operation without a backing. Writes the outcome ahead if its route has one.
   * @param outcome - `CANCELLED`.
   */
  cancel(opId: OpId, outcome: FailOutcome): Promise<CancelAnswer>;
  /** Returns operations without an owner that have an outcome written ahead, the oldest first. */
  ahead(limit: number, after?: OpId): Promise<readonly Operation[]>;
  /** Ends an operation with its outcome written ahead. */
  finalize(opId: OpId): Promise<SettleAnswer>;
  /** Releases or fails operations whose lease expired, by their traits. */
  reap(limit: number): Promise<readonly Reaped[]>;
  /** Deletes operations that ended more than `retentionMs` ago. Returns their number. */
  prune(retentionMs: number, limit: number): Promise<number>;
}

/** Numbers of operations. */
export interface OperationCounts {
  readonly byState: Readonly<Record<OperationState, number>>;
  readonly deadLetters: number;
  /** Age of the oldest operation that waits for an attempt. 0 if none waits. */
  readonly oldestDueMs: number;
}

/** Numbers of operations that have not ended. */
export interface OpenCounts {
  readonly byState: Readonly<Record<OpenState, number>>;
  /** As of OperationCounts. */
  readonly oldestDueMs: number;
}

/** Reads operations. */
export interface Views {
  get(opId: OpId): Promise<Operation | undefined>;
  /**
   * Returns operations that callers of this instance wait for. An instance that ends one within `waitMs` sends a notice.
   */
  watch(opIds: readonly OpId[], waitMs: number): Promise<readonly Operation[]>;
  /** Returns a page, the newest operation first. */
  list(filter: OperationFilter, limit: number, cursor: string | undefined): Promise<Page<Operation>>;
  /** Counts all operations, ended ones included. */
  counts(): Promise<OperationCounts>;
  /** Counts the operations that have not ended. */
  openCounts(): Promise<OpenCounts>;
}

/** Notices between instances. They may be lost. */
export interface Notices {
  /** Notifies all instances that an operation changed, after this call. */
  tell(opId: OpId): void;
  /** Adds a listener. Returns a function that removes it. */
  hear(listener: (opId: OpId) => void): () => void;
}

/** Stores operations. */
export interface OperationStore {
  readonly runs: Runs;
  readonly repairs: Repairs;
  readonly views: Views;
  readonly notices: Notices;
  /** Opens the store and checks its layout. */
  start(): Promise<void>;
  stop(): Promise<void>;
}
