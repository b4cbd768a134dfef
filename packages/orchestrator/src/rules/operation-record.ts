import type { Backing, NewOperation, Operation, OwnedOperation, RouteTraits } from '../model.js';
import type { OpId } from '../op-id.js';
import type { OperationState } from '../states.js';
import { fromOutcomeText, fromStoredJson, toStoredJson } from '../stored-json.js';

/**
 * A stored operation. Times are milliseconds of the store's clock.
 *
 * An operation that has not ended is in exactly one place: owned (`leaseUntil`), waiting for an attempt (`dueAt`), backed
 * (`backing`), or left to the Finalizer (`ahead` and none of these).
 */
export interface OperationRecord {
  readonly opId: OpId;
  readonly tenant: string;
  readonly traceparent: string | undefined;
  readonly domain: string;
  readonly eventType: string;
  readonly bizKey: string;
  readonly idemKey: string;
  readonly bodyHash: string;
  readonly payloadText: string;
  readonly traits: RouteTraits;
  readonly state: OperationState;
  readonly outcomeText: string | undefined;
  /** True if it is cancelled: its outcome stands. Before the end the backing has to be cancelled. */
  readonly ahead: boolean;
  readonly attempts: number;
  readonly refusals: number;
  readonly owner: string | undefined;
  /** Token of the latest owner. The next owner has a higher one. */
  readonly token: number;
  /** Start of the lease. One in the future shows that the clock was set back. */
  readonly leaseFrom: number | undefined;
  readonly leaseUntil: number | undefined;
  readonly dueFrom: number | undefined;
  readonly dueAt: number | undefined;
  readonly backing: Backing | undefined;
  /** Time until which another instance waits for it. */
  readonly waitedUntil: number | undefined;
  /** True if its idempotency key belongs to it. */
  readonly keyed: boolean;
  readonly deadLetter: boolean;
  /** `settlementMark` of the latest settlement. */
  readonly settledAs: string | undefined;
  readonly acceptedAt: number;
  readonly startedAt: number | undefined;
  readonly updatedAt: number;
  readonly endedAt: number | undefined;
}

/** The token of the instance that accepts an operation. */
export const FIRST_TOKEN = 1;

/** No owner and no wait. */
export const NO_PLACE = Object.freeze({
  owner: undefined,
  leaseFrom: undefined,
  leaseUntil: undefined,
  dueFrom: undefined,
  dueAt: undefined,
});

/** Makes the record of a new operation: PENDING and owned. */
export function newRecord(
  { envelope, traits, bodyHash, owner, leaseMs }: NewOperation,
  now: number,
): OperationRecord {
  const { domain, eventType, bizKey, idemKey, payload } = envelope.command;
  return {
    opId: envelope.opId,
    tenant: envelope.tenant,
    traceparent: envelope.traceparent,
    domain,
    eventType,
    bizKey,
    idemKey,
    bodyHash,
    payloadText: toStoredJson(payload),
    traits,
    state: 'PENDING',
    outcomeText: undefined,
    ahead: false,
    attempts: 1,
    refusals: 0,
    ...NO_PLACE,
    owner,
    token: FIRST_TOKEN,
    leaseFrom: now,
    leaseUntil: now + leaseMs,
    backing: undefined,
    waitedUntil: undefined,
    keyed: true,
    deadLetter: false,
    settledAs: undefined,
    acceptedAt: now,
    startedAt: undefined,
    updatedAt: now,
    endedAt: undefined,
  };
}

/** The fields that the public view of an operation needs. */
export type ShownRecord = Omit<OperationRecord, 'payloadText' | 'bodyHash' | 'settledAs'>;

const toDate = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(ms));

/** Makes the public view of an operation. */
export function toOperation(record: ShownRecord): Operation {
  return {
    opId: record.opId,
    tenant: record.tenant,
    traceparent: record.traceparent,
    domain: record.domain,
    eventType: record.eventType,
    bizKey: record.bizKey,
    idemKey: record.idemKey,
    state: record.state,
    outcome: record.outcomeText === undefined ? undefined : fromOutcomeText(record.outcomeText),
    attempts: record.attempts,
    attemptsMax: record.traits.attemptsMax,
    refusals: record.refusals,
    owner: record.owner,
    dueAt: toDate(record.dueAt),
    backing: record.backing,
    deadLetter: record.deadLetter,
    acceptedAt: new Date(record.acceptedAt),
    startedAt: toDate(record.startedAt),
    updatedAt: new Date(record.updatedAt),
    endedAt: toDate(record.endedAt),
  };
}

/** Makes the view of an operation for its new owner. */
export function toOwned(record: ShownRecord & Pick<OperationRecord, 'payloadText'>): OwnedOperation {
  const { opId, tenant, traceparent, domain, eventType, bizKey, idemKey, traits, token, attempts, refusals } =
    record;
  const command = { domain, eventType, bizKey, idemKey, payload: fromStoredJson(record.payloadText) };
  return {
    opId,
    token,
    envelope: Object.freeze({
      opId,
      tenant,
      traceparent,
      command: Object.freeze(command),
      acceptedAt: new Date(record.acceptedAt),
    }),
    traits,
    attempt: attempts,
    refusals,
  };
}

/** Reports whether another instance waits for an operation. */
export const isWaited = ({ waitedUntil }: Pick<OperationRecord, 'waitedUntil'>, now: number): boolean =>
  waitedUntil !== undefined && waitedUntil > now;
