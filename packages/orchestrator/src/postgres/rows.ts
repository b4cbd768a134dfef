import type { OnLost, Operation, OwnedOperation } from '../model.js';
import type { OpId } from '../op-id.js';
import type { SettleAnswer } from '../ports.js';
import { type ShownRecord, toOperation, toOwned } from '../rules/operation-record.js';
import type { OperationState } from '../states.js';

/** A row of `operation_row`. */
export interface OperationRow {
  readonly op_id: OpId;
  readonly tenant: string;
  readonly domain: string;
  readonly event_type: string;
  readonly biz_key: string;
  readonly idem_key: string;
  readonly traceparent: string | null;
  readonly kind: string;
  readonly attempts_max: number;
  readonly on_lost: OnLost;
  readonly idempotent: boolean;
  readonly state: OperationState;
  readonly outcome: string | null;
  readonly ahead: boolean;
  readonly attempts: number;
  readonly refusals: number;
  readonly owner: string | null;
  readonly token: number;
  readonly lease_from: Date | null;
  readonly lease_until: Date | null;
  readonly due_from: Date | null;
  readonly due_at: Date | null;
  readonly backing_kind: string | null;
  readonly backing_ref: string | null;
  readonly waited_until: Date | null;
  readonly keyed: boolean;
  readonly dead_letter: boolean;
  readonly accepted_at: Date;
  readonly started_at: Date | null;
  readonly updated_at: Date;
  readonly ended_at: Date | null;
}

/** The row of an operation that may not exist. All columns are null then. */
export type MaybeRow = OperationRow | { readonly op_id: null };

/** The reply of a change of one operation. */
export type SettledRow = MaybeRow & { readonly settled: boolean; readonly waited: boolean };

const ms = (date: Date | null): number | undefined => date?.getTime();

function toShown(row: OperationRow): ShownRecord {
  const { backing_kind: kind, backing_ref: ref } = row;
  return {
    opId: row.op_id,
    tenant: row.tenant,
    traceparent: row.traceparent ?? undefined,
    domain: row.domain,
    eventType: row.event_type,
    bizKey: row.biz_key,
    idemKey: row.idem_key,
    traits: {
      kind: row.kind,
      attemptsMax: row.attempts_max,
      onLost: row.on_lost,
      idempotent: row.idempotent,
    },
    state: row.state,
    outcomeText: row.outcome ?? undefined,
    ahead: row.ahead,
    attempts: row.attempts,
    refusals: row.refusals,
    owner: row.owner ?? undefined,
    token: row.token,
    leaseFrom: ms(row.lease_from),
    leaseUntil: ms(row.lease_until),
    dueFrom: ms(row.due_from),
    dueAt: ms(row.due_at),
    backing: kind === null || ref === null ? undefined : { kind, ref },
    waitedUntil: ms(row.waited_until),
    keyed: row.keyed,
    deadLetter: row.dead_letter,
    acceptedAt: row.accepted_at.getTime(),
    startedAt: ms(row.started_at),
    updatedAt: row.updated_at.getTime(),
    endedAt: ms(row.ended_at),
  };
}

/** Makes the public view of an operation. */
export const rowToOperation = (row: OperationRow): Operation => toOperation(toShown(row));

/** Makes the view of a claimed operation for its new owner. */
export const rowToOwned = (row: OperationRow & { readonly payload: string }): OwnedOperation =>
  toOwned({ ...toShown(row), payloadText: row.payload });

/** Reports whether a row has an operation. */
export const isThere = (row: MaybeRow | undefined): row is OperationRow => typeof row?.op_id === 'string';

/** Makes the answer of a change from the row of its statement, if there is one. */
export function toSettleAnswer(row: SettledRow | undefined): SettleAnswer {
  const operation = isThere(row) ? rowToOperation(row) : undefined;
  if (operation && row?.settled) return { kind: 'settled', operation, waited: row.waited };
  return { kind: 'refused', operation };
}
