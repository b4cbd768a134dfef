import { ERRORS } from './errors.js';

/**
 * The state of an operation. Only the store changes it, together with the rest of the record.
 *
 * ```
 *   accept ──▶ PENDING ──an attempt begins──▶ IN_PROGRESS ──Ok────────────────────────────▶ COMPLETED
 *                                          │     ▲ └──Fail, retries spent, cancelled,
 *                                          │     │     lost, backing gone ───────────▶ FAILED
 *                                          └─────┘ Retry: waits without an owner
 * ```
 * A PENDING operation that ends passes through IN_PROGRESS in the same statement. COMPLETED and FAILED never change.
 */
export type OperationState = 'PENDING' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED';

/** The states in which an operation ends. */
export type FinalState = 'COMPLETED' | 'FAILED';

/** The states of an operation that has not ended. */
export type OpenState = Exclude<OperationState, FinalState>;

/** All states, in their usual order. */
export const OPERATION_STATES: readonly OperationState[] = ['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED'];

/** The allowed transitions. */
export const TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = Object.freeze({
  PENDING: ['IN_PROGRESS'],
  IN_PROGRESS: ['COMPLETED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
});

/** Reports whether an operation in this state has ended. */
export const isTerminal = (state: OperationState): state is FinalState =>
  state === 'COMPLETED' || state === 'FAILED';

/** Validates transitions. */
export const StateTransition = Object.freeze({
  /**
   * Rejects a transition that is not allowed.
   * @throws MillraceError `TRANSITION_INVALID`.
   */
  validate(from: OperationState, to: OperationState): void {
    if (TRANSITIONS[from]?.includes(to)) return;
    const allowed = TRANSITIONS[from]?.join(' or ') || 'none, it has ended';
    throw ERRORS.create('TRANSITION_INVALID', { from, to, allowed });
  },
});
