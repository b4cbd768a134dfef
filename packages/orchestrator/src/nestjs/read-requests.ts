import {
  type FieldError,
  fieldErrorsOf,
  fieldErrorsText,
  ListQuery,
  StatusQuery,
  SubmitRequest,
} from '@millrace/contract';
import { printable, traceIdOf } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { CommandInput, OperationFilter } from '../model.js';
import { OpId } from '../op-id.js';
import type { OperationPageRequest, TenantScope } from '../operations.js';
import { secondsToMs } from '../rules/prefer.js';

/** A parsed submit. */
export interface SubmitInput {
  readonly command: CommandInput;
  readonly timeBudgetMs: number | undefined;
}

/** Longest wait of a long poll, below the limit of proxies, which is usually 60 s. */
const LONG_POLL_MAX_MS = 30_000;

/**
 * Parses a command.
 * @throws MillraceError `COMMAND_INVALID` with each field in `details.errors`.
 */
export function readSubmit(body: unknown, key: string | undefined): SubmitInput {
  const { success, data, error } = SubmitRequest.safeParse(body);
  const complaints = success ? [] : fieldErrorsOf(error.issues);
  const own = (body as { idemKey?: unknown } | null | undefined)?.idemKey;
  if (key !== undefined && own !== undefined && own !== key)
    complaints.push({
      field: 'idemKey',
      message: `must be the same as the header Idempotency-Key ('${printable(key)}'), or left out`,
    });
  if (!success || complaints.length > 0) throw refusal('COMMAND_INVALID', complaints);
  const { timeBudgetMs, ...command } = data;
  // A key from the header is checked with the command.
  return { command: key === undefined ? command : { ...command, idemKey: key }, timeBudgetMs };
}

/**
 * Parses the query of a status. Returns the time to wait for the end.
 * @throws MillraceError `REQUEST_INVALID`.
 */
export function readWait(query: unknown): number {
  const { wait } = checked(StatusQuery, query);
  return Math.min(secondsToMs(wait) ?? 0, LONG_POLL_MAX_MS);
}

/**
 * Parses the query of a list.
 * @throws MillraceError `REQUEST_INVALID`, also for another tenant than the caller's.
 */
export function readList(
  query: unknown,
  scope: TenantScope,
): { filter: OperationFilter; page: OperationPageRequest } {
  const { limit, cursor, deadLetter, tenant = scope.tenant, ...rest } = checked(ListQuery, query);
  if (scope.tenant !== undefined && tenant !== scope.tenant)
    throw refusal('REQUEST_INVALID', [
      { field: 'tenant', message: 'must be left out, or be the tenant of the key' },
    ]);
  const isDeadLetter = deadLetter === undefined ? undefined : deadLetter === 'true';
  return { filter: { ...rest, tenant, deadLetter: isDeadLetter }, page: { limit, cursor } };
}

/**
 * Parses the id in a path. An invalid id has no operation.
 * @throws MillraceError `OPERATION_NOT_FOUND`.
 */
export function readOpId(text: string): OpId {
  try {
    return OpId.of(text);
  } catch {
    throw ERRORS.create('OPERATION_NOT_FOUND', { opId: `'${printable(text)}'` });
  }
}

/** Returns the trace context of a request. Ignores an invalid one, as its specification says. */
export const readTraceparent = (header: string | undefined): string | undefined =>
  traceIdOf(header) === undefined ? undefined : header;

function checked<T>(
  schema: {
    safeParse(
      value: unknown,
    ):
      | { success: true; data: T }
      | { success: false; error: { issues: Parameters<typeof fieldErrorsOf>[0] } };
  },
  value: unknown,
): T {
  const result = schema.safeParse(value);
  if (!result.success) throw refusal('REQUEST_INVALID', fieldErrorsOf(result.error.issues));
  return result.data;
}

function refusal(code: 'COMMAND_INVALID' | 'REQUEST_INVALID', errors: readonly FieldError[]) {
  const details = { problems: fieldErrorsText(errors), errors };
  return ERRORS.create(code, details);
}
