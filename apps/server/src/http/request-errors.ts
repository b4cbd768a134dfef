import { type FieldError, fieldErrorsText } from '@millrace/contract';
import { ERRORS, type MillraceError } from '@millrace/foundation';
import { ERRORS as ORCHESTRATOR_ERRORS } from '@millrace/orchestrator';

/** Creates `REQUEST_INVALID`, the error for a request with wrong fields. */
export function requestInvalid(errors: readonly FieldError[]): MillraceError {
  const details = { problems: fieldErrorsText(errors), errors };
  return ORCHESTRATOR_ERRORS.create('REQUEST_INVALID', details);
}

/** Converts `OPTION_INVALID` and `OPTION_UNKNOWN` of an engine to a field error. Returns `undefined` for every other error. */
export function optionFault(error: unknown): FieldError | undefined {
  if (ERRORS.is(error, 'OPTION_INVALID')) {
    const { option, expected, given } = error.details;
    return { field: fieldOf(option), message: `must be ${expected}, got ${given}` };
  }
  if (ERRORS.is(error, 'OPTION_UNKNOWN'))
    return { field: fieldOf(error.details.option), message: `is not known here${error.details.hint ?? ''}` };
  return undefined;
}

/** `jobs[3].cost` → `jobs.3.cost`, the form of all other field errors. */
const fieldOf = (option: unknown): string => String(option).replaceAll(/\[(\d+)\]/g, '.$1');

/**
 * Calls an engine with values from a request. Reports options that the engine rejects as mistakes of the caller.
 * @throws MillraceError `REQUEST_INVALID` for `OPTION_INVALID` and `OPTION_UNKNOWN`; every other error unchanged.
 */
export async function callerCaused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = optionFault(error);
    throw fault ? requestInvalid([fault]) : error;
  }
}
