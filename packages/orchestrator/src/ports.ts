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

// ── The executor: who does the work ──────────────────────────────────────────────────────────────────────────

/** What an executor is told of a try besides its envelope. */
export interface Attempt {
  /** The number of the try, from 1, and how many there may be. */
  readonly attempt: number;
  readonly attemptsMax: number;
  /** How often it was refused before a try began. */
  readonly refusals: number;
  /** Aborts when the operation is cancelled, its lease is lost, or the instance ends. */
  readonly signal: AbortSignal;
}

/** What an executor answers: nothing when the work runs in this process, else what stands behind it; or that it did not begin. */
export type ExecuteAnswer = undefined | { readonly backing: Backing } | { readonly refused: RetryOutcome };

/** Why a command is not taken at all. */
export interface Refusal {
  readonly reason: 'RATE_LIMIT' | 'CB_OPEN' | 'BULKHEAD_FULL';
  readonly retryAfterMs: number;
}

/**
 * Told of what came of a try.
 * @param refused - the work had to wait and never began: its Retry is a refusal, which costs no try.
 */
export type SettledListener = (opId: OpId, outcome: Outcome, refused?: boolean) => void;

/** Does the work. Only the first three are needed. */
export interface Executor {
  /** Begins a try; does not wait for its end. A throw is a failure of the executor itself, and final. */
  // biome-ignore lint/suspicious/noConfusingVoidType: whoever has nothing to answer writes a function that returns nothing.
  execute(envelope: Envelope, attempt: Attempt): ExecuteAnswer | void | Promise<ExecuteAnswer | void>;
  /**
   * Where the latest try of an operation is.
   * @throws MillraceError `OPERATION_NOT_FOUND`.
   */
  getState(opId: OpId): OperationState | Promise<OperationState>;
  /**
   * What came of the latest try.
   * @throws MillraceError `OPERATION_NOT_TERMINAL` before it has ended, `OPERATION_NOT_FOUND`.
   */
  getOutcome(opId: OpId): Outcome | Promise<Outcome>;
  /**
   * Tells of every try that ends in this process, and of backings whose end was seen; without it the state is polled.
   * @returns a function that ends the telling.
   */
  onSettled?(listener: SettledListener): () => void;
  /**
   * What the route of a command says of its operations.
   * @throws MillraceError `ROUTE_NOT_FOUND`.
   */
  traits?(command: Pick<Command, 'domain' | 'eventType'>): RouteTraits;
  /** Asked before anything is stored; a command that is let through holds its place until `execute` or `withdraw`. */
  admit?(envelope: Envelope): Refusal | undefined;
  /** Gives the place of `admit` back: the operation will not be executed. */
  withdraw?(opId: OpId): void;
  /** `DOMAIN.EVENT_TYPE` of all that it can do; without, it is given every operation. */
  readonly routeNames?: readonly string[];
  /** The kinds of work that may stand behind operations. */
  readonly backings?: ReadonlyMap<string, BackingPort>;
}

/** What is known of the work behind an operation. */
export type BackingLook =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'gone' };

/** One kind of work behind operations. */
export interface BackingPort {
  /** Looks at many at once; a ref that is not in the answer is left for the next look. */
  look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>>;
  /** Ends the work; nothing when it has ended or never began. May be repeated. */
  cancel(operation: RoutedOperation): Promise<void>;
}

// ── The store: what is known of operations ───────────────────────────────────────────────────────────────────

/** What came of `accept`. */
export type AcceptAnswer =
  | { readonly kind: 'accepted'; readonly token: number }
  /** The key has an operation with the same body. */
  | { readonly kind: 'known'; readonly operation: Operation }
  /** The key has an operation with another body. */
  | { readonly kind: 'conflict'; readonly opId: OpId };

/** What came of a settlement. */
export type SettleAnswer =
  /** Written now or, by a call whose answer was lost, before. `waited`: another instance waits for news. */
  | { readonly kind: 'settled'; readonly operation: Operation; readonly waited: boolean }
  /** Not this instance's any more, or ended: nothing was changed. */
  | { readonly kind: 'refused'; readonly operation: Operation | undefined };

/** What a runner looks for. */
export interface ClaimRequest {
  readonly owner: string;
  readonly leaseMs: number;
  readonly limit: number;
  /** `DOMAIN.EVENT_TYPE`: those that this instance can run; all of them without. */
  readonly routes?: readonly string[] | undefined;
}

/** Operations that an instance owns. Every step checks the token; every call may be repeated. */
export interface Runs {
  /**
   * Stores a new operation, or finds the one that has its key. Repeated with the same opId it answers as the first time.
   * @param timeoutMs - longest wait.
   */
  accept(operation: NewOperation, timeoutMs?: number): Promise<AcceptAnswer>;
  /** PENDING → IN_PROGRESS. What is not this owner's any more is left alone. */
  begin(refs: readonly RunRef[]): Promise<void>;
  /** Writes what came of a try. */
  settle(ref: RunRef, settlement: Settlement): Promise<SettleAnswer>;
  /** Extends leases. @returns those that are not this owner's any more. */
  extend(refs: readonly RunRef[], leaseMs: number): Promise<ReadonlySet<OpId>>;
  /** Takes operations without an owner whose next try is due, the longest waiting first. */
  claim(request: ClaimRequest): Promise<readonly OwnedOperation[]>;
}

/** What is needed to find the work behind an operation, before its store knows that it has begun too. */
export interface RoutedOperation {
  readonly opId: OpId;
  readonly tenant: string;
  readonly domain: string;
  readonly eventType: string;
  /** What stands behind it, once that is known. */
  readonly backing?: Backing | undefined;
}

/** An operation with work behind it. */
export interface BackedOperation extends RoutedOperation {
  readonly backing: Backing;
}

/** What came of a cancellation. */
export type CancelAnswer =
  /** FAILED by this call, or by one before. */
  | { readonly kind: 'cancelled'; readonly operation: Operation; readonly waited: boolean }
  /** The outcome is written ahead: the backing has to be told, then `finalize`. */
  | { readonly kind: 'ahead'; readonly operation: Operation }
  /** It had ended before, in another way. */
  | { readonly kind: 'ended'; readonly operation: Operation }
  | { readonly kind: 'unknown' };

/** One operation that was freed of a dead owner. */
export interface Reaped {
  readonly operation: Operation;
  /** `released`: somebody may try again. `failed`: it ended. */
  readonly became: 'released' | 'failed';
  readonly waited: boolean;
}

/** Steps without an owner: work behind operations, cancellation, repairs. */
export interface Repairs {
  /** Operations with work of this kind behind them that have not ended, in the order of their ids. */
  backed(kind: string, after: OpId | undefined, limit: number): Promise<readonly BackedOperation[]>;
  /**
   * Ends an operation whose backing has ended; one with an outcome written ahead ends with that.
   * @param tx - of the database that the operations are in: the end happens with it.
   */
  endBacked(opId: OpId, ending: Ending, tx?: Tx): Promise<SettleAnswer>;
  /** The backing is gone: somebody may hand the work over again. @returns false when nothing was changed. */
  dropBacking(opId: OpId): Promise<boolean>;
  /**
   * Ends an operation that nothing stands behind; writes the outcome ahead for one whose route has a backing.
   * @param outcome - `CANCELLED`.
   */
  cancel(opId: OpId, outcome: FailOutcome): Promise<CancelAnswer>;
  /** Operations with an outcome written ahead that nobody is working on, the oldest first. */
  ahead(limit: number, after?: OpId): Promise<readonly Operation[]>;
  /** Makes an outcome that was written ahead final. */
  finalize(opId: OpId): Promise<SettleAnswer>;
  /** Frees operations of owners whose lease has ended; see RouteTraits for which of them fail. */
  reap(limit: number): Promise<readonly Reaped[]>;
  /** Deletes operations that ended longer ago. @returns how many. */
  prune(retentionMs: number, limit: number): Promise<number>;
}

/** How many operations there are. */
export interface OperationCounts {
  readonly byState: Readonly<Record<OperationState, number>>;
  readonly deadLetters: number;
  /** How long the operation has been due that has waited longest for a try; 0 when none is. */
  readonly oldestDueMs: number;
}

/** How many operations there are that have not ended. */
export interface OpenCounts {
  readonly byState: Readonly<Record<OpenState, number>>;
  /** As of OperationCounts. */
  readonly oldestDueMs: number;
}

/** Questions. */
export interface Views {
  get(opId: OpId): Promise<Operation | undefined>;
  /**
   * Looks at operations that somebody waits for, and notes how long: whoever ends one within that time tells it by a notice.
   */
  watch(opIds: readonly OpId[], waitMs: number): Promise<readonly Operation[]>;
  /** Newest first. */
  list(filter: OperationFilter, limit: number, cursor: string | undefined): Promise<Page<Operation>>;
  /** Looks at all operations, those that have ended too. */
  counts(): Promise<OperationCounts>;
  /** Looks at those only that have not ended. */
  openCounts(): Promise<OpenCounts>;
}

/** Hints between instances; they may be lost. */
export interface Notices {
  /** Tells all instances that something became of an operation, soon. */
  tell(opId: OpId): void;
  /** @returns a function that ends the hearing. */
  hear(listener: (opId: OpId) => void): () => void;
}

/** Keeps operations. */
export interface OperationStore {
  readonly runs: Runs;
  readonly repairs: Repairs;
  readonly views: Views;
  readonly notices: Notices;
  /** Opens what it needs; checks its layout. */
  start(): Promise<void>;
  stop(): Promise<void>;
}
