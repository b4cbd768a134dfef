import type { NewOperation } from '../model.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';

/** Reports whether an operation exists and belongs to the owner with this token. */
export const isOwnedBy = (record: OperationRecord | undefined, token: number): record is OperationRecord =>
  record !== undefined &&
  record.endedAt === undefined &&
  record.owner !== undefined &&
  record.token === token;

/** Reports whether an operation was made by this request, which was repeated after a lost reply. */
export function isSameRequest(record: OperationRecord, { envelope, bodyHash }: NewOperation): boolean {
  const { domain, eventType, bizKey, idemKey } = envelope.command;
  return (
    record.tenant === envelope.tenant &&
    record.domain === domain &&
    record.eventType === eventType &&
    record.bizKey === bizKey &&
    record.idemKey === idemKey &&
    record.bodyHash === bodyHash
  );
}

/** The effect of an idempotency key on a new operation. */
export type KeyVerdict = 'known' | 'conflict' | 'expired';

/**
 * Decides about a key that belongs to an operation.
 * @returns `expired` if the key is old and its operation has ended. The new operation gets the key then.
 */
export function judgeKey(
  holder: Pick<OperationRecord, 'acceptedAt' | 'endedAt' | 'bodyHash'>,
  given: Pick<NewOperation, 'bodyHash' | 'keyTtlMs'>,
  now: number,
): KeyVerdict {
  if (holder.endedAt !== undefined && holder.acceptedAt + given.keyTtlMs <= now) return 'expired';
  return holder.bodyHash === given.bodyHash ? 'known' : 'conflict';
}

/** Begins an attempt. Returns the same record if one had begun before. */
export const begin = (record: OperationRecord, now: number): OperationRecord =>
  record.state === 'PENDING' ? { ...record, state: 'IN_PROGRESS', startedAt: now, updatedAt: now } : record;

/** Extends the lease of the owner. */
export const extendLease = (record: OperationRecord, leaseMs: number, now: number): OperationRecord => ({
  ...record,
  leaseFrom: now,
  leaseUntil: now + leaseMs,
});

/** Gives a due operation to a new owner. */
export const claim = (
  record: OperationRecord,
  { owner, leaseMs }: { readonly owner: string; readonly leaseMs: number },
  now: number,
): OperationRecord => ({
  ...record,
  ...NO_PLACE,
  owner,
  token: record.token + 1,
  attempts: record.attempts + 1,
  leaseFrom: now,
  leaseUntil: now + leaseMs,
  updatedAt: now,
});

/** Notes that another instance waits for an operation. Returns an ended one unchanged. */
export const noteWait = (record: OperationRecord, waitMs: number, now: number): OperationRecord =>
  record.endedAt !== undefined
    ? record
    : { ...record, waitedUntil: Math.max(record.waitedUntil ?? 0, now + waitMs) };

/**
 * Moves a lease or a wait that began in the future to now, with its full length. The clock was set back then, and the
 * operation would be blocked until the clock has caught up.
 * @returns undefined if nothing began in the future.
 */
export function clampTimes(record: OperationRecord, now: number): OperationRecord | undefined {
  const { leaseFrom, leaseUntil, dueFrom, dueAt } = record;
  if (leaseFrom !== undefined && leaseUntil !== undefined && leaseFrom > now)
    return { ...record, leaseFrom: now, leaseUntil: now + (leaseUntil - leaseFrom) };
  if (dueFrom !== undefined && dueAt !== undefined && dueFrom > now)
    return { ...record, dueFrom: now, dueAt: now + (dueAt - dueFrom) };
  return undefined;
}
