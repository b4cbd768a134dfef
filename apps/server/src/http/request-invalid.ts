import { type FieldError, fieldErrorsText } from '@millrace/contract';
import type { MillraceError } from '@millrace/foundation';
import { ERRORS as ORCHESTRATOR_ERRORS } from '@millrace/orchestrator';

/** The error for a request that cannot be read: `REQUEST_INVALID`. */
export function requestInvalid(errors: readonly FieldError[]): MillraceError {
  const details = { problems: fieldErrorsText(errors), errors };
  return ORCHESTRATOR_ERRORS.create('REQUEST_INVALID', details);
}
