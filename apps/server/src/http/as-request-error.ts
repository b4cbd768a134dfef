import type { FieldError } from '@millrace/contract';
import { ERRORS } from '@millrace/foundation';
import { requestInvalid } from './request-invalid.js';

/**
 * What is wrong with a request, where a part says so in the words of its options; undefined for every other error.
 */
export function optionFault(error: unknown): FieldError | undefined {
  if (ERRORS.is(error, 'OPTION_INVALID')) {
    const { option, expected, given } = error.details;
    return { field: fieldOf(option), message: `must be ${expected}, got ${given}` };
  }
  if (ERRORS.is(error, 'OPTION_UNKNOWN'))
    return { field: fieldOf(error.details.option), message: `is not known here${error.details.hint ?? ''}` };
  return undefined;
}

/** `jobs[3].cost` → `jobs.3.cost`, as all other errors of fields have it. */
const fieldOf = (option: unknown): string => String(option).replaceAll(/\[(\d+)\]/g, '.$1');

/**
 * Does what a caller asked for. Options that a part refuses are a mistake of the program elsewhere; here they are the caller's.
 * @param work - calls the part with what came with the request.
 * @throws MillraceError `REQUEST_INVALID` for `OPTION_INVALID` and `OPTION_UNKNOWN`; everything else as it is.
 */
export async function callerCaused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = optionFault(error);
    throw fault ? requestInvalid([fault]) : error;
  }
}
