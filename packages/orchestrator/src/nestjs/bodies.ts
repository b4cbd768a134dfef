import type { AcceptedResponse, CancelResponse, CompletedResponse, OperationBody } from '@millrace/contract';
import { ERRORS } from '../errors.js';
import type { Operation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { Estimate } from '../operations.js';
import type { Outcome } from '../outcome.js';

/** Makes the response to a submit whose work ended within the budget. */
export const completedAnswer = (opId: OpId, outcome: Outcome): CompletedResponse => ({
  opId,
  status: outcome.type === 'Ok' ? 'COMPLETED' : 'FAILED',
  outcome,
});

/** Makes the response to a submit whose work continues. */
export const acceptedAnswer = (opId: OpId, statusUrl: string, estimate: Estimate): AcceptedResponse => ({
  opId,
  status: 'IN_PROGRESS',
  statusUrl,
  estimatedCompletionTime: estimate.completionAt.toISOString(),
});

/** Makes the response to a cancellation. */
export const cancelAnswer = (operation: Operation): CancelResponse => ({
  cancelled:
    operation.outcome?.type === 'Fail' && ERRORS.is({ code: operation.outcome.errorCode }, 'CANCELLED'),
  operation: operationBody(operation),
});

/** Makes the body of an operation. Leaves out its owner, because callers must not see names of machines. */
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
