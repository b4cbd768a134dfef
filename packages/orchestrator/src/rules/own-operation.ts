import type { NewOperation } from '../model.js';
import { NO_PLACE, type OperationRecord } from './operation-record.js';

/**
 * Whether an instance owns an operation.
 * @param record - if there is one.
 */
export const isOwnedBy = (record: OperationRecord | undefined, token: number): record is OperationRecord =>
  record !== undefined &&
  record.endedAt === undefined &&
  record.owner !== undefined &&
  record.token === token;

/** Whether an operation was made by this very request, whose answer was lost. */
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

/** What an idempotency key means for a new operation. */
export type KeyVerdict = 'known' | 'conflict' | 'expired';

/**
 * What to do about a key that has an operation.
 * @returns `expired`: the key is old and its operation has ended, so the new one gets it.
 */
export function judgeKey(
  holder: Pick<OperationRecord, 'acceptedAt' | 'endedAt' | 'bodyHash'>,
  given: Pick<NewOperation, 'bodyHash' | 'keyTtlMs'>,
  now: number,
): KeyVerdict {
  if (holder.endedAt !== undefined && holder.acceptedAt + given.keyTtlMs <= now) return 'expired';
  return holder.bodyHash === given.bodyHash ? 'known' : 'conflict';
}

/**
 * A try begins.
 * @param record - owned by who asks.
 * @returns the record as it becomes; the same when it had begun before.
 */
export const begin = (record: OperationRecord, now: number): OperationRecord =>
  record.state === 'PENDING' ? { ...record, state: 'IN_PROGRESS', startedAt: now, updatedAt: now } : record;

/**
 * The owner is alive.
 * @param record - owned by who asks.
 */
export const extendLease = (record: OperationRecord, leaseMs: number, now: number): OperationRecord => ({
  ...record,
  leaseFrom: now,
  leaseUntil: now + leaseMs,
});

/** Somebody takes an operation that was due. */
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

/** Somebody waits for news; an operation that has ended has none. */
export const noteWait = (record: OperationRecord, waitMs: number, now: number): OperationRecord =>
  record.endedAt !== undefined
    ? record
    : { ...record, waitedUntil: Math.max(record.waitedUntil ?? 0, now + waitMs) };

/**
 * Brings a lease or a wait back that began in the future: the clock was set back, and without this nobody could have the operation until it
 * has caught up. Each lasts as long as it was meant to, from now on.
 * @returns undefined when there is nothing to bring back.
 */
export function clampTimes(record: OperationRecord, now: number): OperationRecord | undefined {
  const { leaseFrom, leaseUntil, dueFrom, dueAt } = record;
  if (leaseFrom !== undefined && leaseUntil !== undefined && leaseFrom > now)
    return { ...record, leaseFrom: now, leaseUntil: now + (leaseUntil - leaseFrom) };
  if (dueFrom !== undefined && dueAt !== undefined && dueFrom > now)
    return { ...record, dueFrom: now, dueAt: now + (dueAt - dueFrom) };
  return undefined;
}
