import { MillraceError } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../src/errors.js';

/** Code → HTTP status and whether the same call may succeed later, as the specification lists them. */
const CONTRACT = {
  GROUP_NOT_FOUND: [404, false],
  JOB_NOT_FOUND: [404, false],
  GROUP_SEALED: [409, false],
  GROUP_CONFLICT: [409, false],
  GROUP_ENDED: [409, false],
  SEAL_TOTAL_MISMATCH: [409, false],
  PAYLOAD_INVALID: [400, false],
  PAYLOAD_TOO_LARGE: [413, false],
  QUEUE_FULL: [429, true],
  BACKEND_UNAVAILABLE: [503, true],
  IDEMPOTENCY_BUSY: [409, true],
  IDEMPOTENCY_RESULT_TOO_LARGE: [413, false],
  JOB_TIMEOUT: [504, true],
  PROCESSOR_NOT_FOUND: [500, true],
  SHARDS_DIFFER: [503, false],
  PROCESSOR_CONFLICT: [500, false],
  AGGREGATOR_CONFLICT: [500, false],
  LEASE_LOST: [409, true],
  ORPHANED: [500, false],
  RECORD_CORRUPTED: [500, false],
  CANCELLED: [499, false],
  GROUP_TIMEOUT: [504, false],
  AGGREGATION_FAILED: [500, false],
  FIELD_INVALID: [422, false],
  FIELD_UNKNOWN: [422, false],
  ADDRESS_REFUSED: [403, false],
  CALL_REFUSED: [422, false],
  CALL_FAILED: [502, true],
  EMAIL_REFUSED: [422, false],
  EMAIL_PARTLY_REFUSED: [422, false],
  EMAIL_FAILED: [502, true],
  PUSH_GONE: [410, false],
  ENVIRONMENT_INVALID: [500, false],
} as const;

describe('errors of bulk-action', () => {
  it('bulk-action BA-5: every code has the status and the retryability of the specification', () => {
    const found = Object.entries(ERRORS.specs).map(([code, spec]) => [code, [spec.status, spec.retryable]]);
    expect(Object.fromEntries(found)).toEqual(CONTRACT);
  });

  it('each message is filled from its details and says something without them', () => {
    for (const [code, spec] of Object.entries(ERRORS.specs)) {
      const names = [...spec.message.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
      const details = Object.fromEntries(names.map((name) => [name, `<${name}>`]));
      const error = ERRORS.create(code as keyof typeof ERRORS.specs, details as never);
      expect(error).toBeInstanceOf(MillraceError);
      for (const name of names) expect(error.message).toContain(`<${name}>`);
      expect(error.message).not.toMatch(/[{}]/);
    }
  });

  it('bulk-action BA-9: a timed out job says so in words', () => {
    expect(ERRORS.create('JOB_TIMEOUT', { job: 'j1', timeoutMs: 500 }).message).toContain('timed out');
  });
});
