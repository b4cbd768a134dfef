import { ERRORS as BULK_ERRORS } from '@millrace/bulk-action';
import { ERRORS, toWorkError } from '@millrace/foundation';
import { optionFault } from '../../http/request-errors.js';

/** Where the fault is within the one job of a call, and where a hint is: whoever reads it knows the job by its line. */
const OF_THE_JOB = /^jobs\.\d+\.?/;
const HINT = /; did you mean '(?:jobs\[\d+\]\.)?(.+)'\?$/;

/** Why the engine does not take a job or a group; undefined when that is not to blame for the error. */
export function refusedBecause(error: unknown): string | undefined {
  const fault = optionFault(error);
  if (fault)
    return `${fault.field.replace(OF_THE_JOB, '') || 'it'} ${fault.message.replace(HINT, " (did you mean '$1'?)")}`;
  const isRefusal =
    ERRORS.is(error, 'ID_INVALID') ||
    BULK_ERRORS.is(error, 'PAYLOAD_INVALID') ||
    BULK_ERRORS.is(error, 'PAYLOAD_TOO_LARGE');
  return isRefusal ? toWorkError(error).message : undefined;
}
