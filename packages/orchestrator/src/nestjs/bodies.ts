import type { AcceptedResponse, CancelResponse, CompletedResponse, OperationBody } from '@millrace/contract';
import { ERRORS } from '../errors.js';
import type { Operation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { Estimate } from '../operations.js';
import type { Outcome } from '../outcome.js';

/** The answer to a submit whose work ended inside the budget. */
export const completedAnswer = (opId: OpId, outcome: Outcome): CompletedResponse => ({
  opId,
  status: outcome.type === 'Ok' ? 'COMPLETED' : 'FAILED',
  outcome,
});

/**
 * The answer to a submit whose work goes on.
 * @param estimate - when it will have ended.
 */
export const acceptedAnswer = (opId: OpId, statusUrl: string, estimate: Estimate): AcceptedResponse => ({
  opId,
  status: 'IN_PROGRESS',
  statusUrl,
  estimatedCompletionTime: estimate.completionAt.toISOString(),
});

/** The answer to a cancellation. */
export const cancelAnswer = (operation: Operation): CancelResponse => ({
  cancelled:
    operation.outcome?.type === 'Fail' && ERRORS.is({ code: operation.outcome.errorCode }, 'CANCELLED'),
  operation: operationBody(operation),
});

/** An operation over HTTP. Who owns it stays here: names of machines are nobody else's business. */
export function operationBody(operation: Operation): OperationBody {
  const { opId, tenant, domain, eventType, bizKey, idemKey, state, attempts, attemptsMax, refusals } =
    operation;
  return {
    opId,
    tenant,
    traceparent: operation.traceparent ?? null,
    domain,
    eventType,
    bizKey,
    idemKey,
    state,
    outcome: operation.outcome ?? null,
    attempts,
    attemptsMax,
    refusals,
    dueAt: timeText(operation.dueAt),
    backing: operation.backing ?? null,
    deadLetter: operation.deadLetter,
    acceptedAt: operation.acceptedAt.toISOString(),
    startedAt: timeText(operation.startedAt),
    updatedAt: operation.updatedAt.toISOString(),
    endedAt: timeText(operation.endedAt),
  };
}

const timeText = (time: Date | undefined): string | null => time?.toISOString() ?? null;
