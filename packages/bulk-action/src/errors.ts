import { defineErrors } from '@millrace/foundation';

/** The errors of this package. Ids are checked with `ID_INVALID`, deadlines end as `DEADLINE_EXCEEDED`: foundation's. */
export const ERRORS = defineErrors('bulk-action', {
  GROUP_NOT_FOUND: {
    message: 'There is no group {group}: it never was, or its retention has passed',
    status: 404,
    retryable: false,
  },
  JOB_NOT_FOUND: {
    message: 'There is no job {job} in group {group}: it never was, or its retention has passed',
    status: 404,
    retryable: false,
  },
  GROUP_SEALED: {
    message: 'The group {group} takes no more jobs: it is sealed; start another group for {count} new jobs',
    status: 409,
    retryable: false,
  },
  GROUP_CONFLICT: {
    message:
      'The group {group} exists with another definition; change it with updateGroup or choose another id',
    status: 409,
    retryable: false,
  },
  GROUP_ENDED: {
    message: 'The group {group} has ended as {status} and cannot be changed any more',
    status: 409,
    retryable: false,
  },
  SEAL_TOTAL_MISMATCH: {
    message: 'The group {group} has {registered} jobs, not {total}; register what is missing and seal again',
    status: 409,
    retryable: false,
  },
  PAYLOAD_INVALID: {
    message: 'The payload of {job} cannot be stored: {reason}',
    status: 400,
    retryable: false,
  },
  PAYLOAD_TOO_LARGE: {
    message:
      'The payload of {job} has {bytes} bytes as JSON, at most {max} are allowed (limits.payloadBytesMax)',
    status: 413,
    retryable: false,
  },
  QUEUE_FULL: {
    message: '{scope} holds {queued} waiting jobs of at most {max}; try again when some are done',
    status: 429,
    retryable: true,
  },
  BACKEND_UNAVAILABLE: {
    message: 'The store did not answer: {reason}',
    status: 503,
    retryable: true,
  },
  IDEMPOTENCY_BUSY: {
    message: 'Another caller works on {key}; try again in {retryAfterMs} ms',
    status: 409,
    retryable: true,
  },
  IDEMPOTENCY_RESULT_TOO_LARGE: {
    message:
      'The result of {key} has {bytes} bytes as JSON, at most {max} are kept; return a reference to it',
    status: 413,
    retryable: false,
  },
  JOB_TIMEOUT: { message: 'The job {job} timed out after {timeoutMs} ms', status: 504, retryable: true },
  PROCESSOR_NOT_FOUND: {
    message: "No processor for '{type}' here; register one, or start an instance that has it",
    status: 500,
    retryable: true,
  },
  SHARDS_DIFFER: {
    message:
      'The data under {base} is that of {found} shards, this engine has {given}; set shards to {found}, or use another keyPrefix',
    status: 503,
    retryable: false,
  },
  PROCESSOR_CONFLICT: {
    message: "There are two processors for '{type}': {first} and {second}; a type has one",
    status: 500,
    retryable: false,
  },
  AGGREGATOR_CONFLICT: {
    message: "There are two aggregators for '{type}': {first} and {second}; a type has one",
    status: 500,
    retryable: false,
  },
  LEASE_LOST: {
    message: 'The lease of job {job} is lost: somebody else may run it now',
    status: 409,
    retryable: true,
  },
  ORPHANED: {
    message: 'The lease expired {count} times: whoever ran the job vanished each time',
    status: 500,
    retryable: false,
  },
  RECORD_CORRUPTED: {
    message: 'The record of the job {job} is damaged',
    status: 500,
    retryable: false,
  },
  CANCELLED: { message: 'The group {group} was cancelled', status: 499, retryable: false },
  GROUP_TIMEOUT: {
    message: 'The group {group} made no progress for {timeoutMs} ms',
    status: 504,
    retryable: false,
  },
  AGGREGATION_FAILED: {
    message: 'The results of the group {group} could not be added up: {reason}',
    status: 500,
    retryable: false,
  },
  FIELD_INVALID: {
    message: "The payload's {field} must be {expected}, got {given}",
    status: 422,
    retryable: false,
  },
  FIELD_UNKNOWN: {
    message: "{type} knows no payload field '{field}'; known: {known}",
    status: 422,
    retryable: false,
  },
  ADDRESS_REFUSED: {
    message: '{host} may not be called: {reason}',
    status: 403,
    retryable: false,
  },
  CALL_REFUSED: { message: '{host} refused the request: {reason}', status: 422, retryable: false },
  CALL_FAILED: { message: 'The call of {host} failed: {reason}', status: 502, retryable: true },
  EMAIL_REFUSED: { message: 'The mail server refused the message: {reason}', status: 422, retryable: false },
  EMAIL_PARTLY_REFUSED: {
    message:
      'Sent to {accepted}, refused for {rejected}: {reason}; not tried again, or the first would get it twice',
    status: 422,
    retryable: false,
  },
  EMAIL_FAILED: {
    message: 'The mail server did not confirm the message: {reason}',
    status: 502,
    retryable: true,
  },
  PUSH_GONE: {
    message: 'The subscription at {host} is gone ({status}); delete it',
    status: 410,
    retryable: false,
  },
  ENVIRONMENT_INVALID: {
    message: "{variable} must be {expected}, got '{given}'",
    status: 500,
    retryable: false,
  },
});
