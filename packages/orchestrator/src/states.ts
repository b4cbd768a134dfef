import { ERRORS } from './errors.js';

/**
 * Where an operation is. The store alone changes it, in the step that changes what it stands for.
 *
 * ```
 *   accept ──▶ PENDING ──a try begins──▶ IN_PROGRESS ──Ok────────────────────────────▶ COMPLETED
 *                                          │     ▲ └──Fail, retries spent, cancelled,
 *                                          │     │     lost, backing gone ───────────▶ FAILED
 *                                          └─────┘ Retry: waits without an owner
 * ```
 * What ends before it has started passes through IN_PROGRESS in the same statement. COMPLETED and FAILED never change.
 */
export type OperationState = 'PENDING' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED';

/** How an operation can end. */
export type FinalState = 'COMPLETED' | 'FAILED';

/** States that an operation leaves again. */
export type OpenState = Exclude<OperationState, FinalState>;

/** All states, in the order of a life. */
export const OPERATION_STATES: readonly OperationState[] = ['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED'];

/** What may follow what. */
export const TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = Object.freeze({
  PENDING: ['IN_PROGRESS'],
  IN_PROGRESS: ['COMPLETED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
});

/** Whether an operation in this state has ended. */
export const isTerminal = (state: OperationState): state is FinalState =>
  state === 'COMPLETED' || state === 'FAILED';

/** The guard of the state machine. */
export const StateTransition = Object.freeze({
  /**
   * Refuses a step that the machine does not have.
   * @throws MillraceError `TRANSITION_INVALID`.
   */
  validate(from: OperationState, to: OperationState): void {
    if (TRANSITIONS[from]?.includes(to)) return;
    const allowed = TRANSITIONS[from]?.join(' or ') || 'nothing: it has ended';
    throw ERRORS.create('TRANSITION_INVALID', { from, to, allowed });
  },
});
