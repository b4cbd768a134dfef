import type { ResponseOf } from '@millrace/contract/server-client';
import { duration, moment, pluralize } from '../../show/amounts.js';
import type { Column, Printer } from '../../show/printer.js';
import { shortened } from '../../show/text.js';

/** An operation, as a server tells of it. */
export type Operation = ResponseOf<'getOperationStatus'>;

const OUTCOME_CHARACTERS_MAX = 80;
/** One operation has room for more; `--json` has all. */
const DATA_CHARACTERS_MAX = 2_000;

/** The columns of a list of operations. */
export const OPERATION_COLUMNS: readonly Column<Operation>[] = [
  { name: 'operation', of: ({ opId }) => opId },
  { name: 'command', of: ({ domain, eventType }) => `${domain}.${eventType}` },
  { name: 'key', of: ({ bizKey }) => bizKey },
  { name: 'state', of: ({ state }) => state },
  { name: 'accepted', of: ({ acceptedAt }) => moment(acceptedAt) },
  { name: 'took', of: tookOf, isNumber: true },
  {
    name: 'outcome',
    of: ({ state, outcome }) => shortened(outcomeText(state, outcome), OUTCOME_CHARACTERS_MAX),
  },
];

/** Prints an operation. */
export function showOperation(printer: Printer, operation: Operation): void {
  const { outcome, backing } = operation;
  printer.fields({
    operation: operation.opId,
    command: `${operation.domain}.${operation.eventType}`,
    key: operation.bizKey,
    'idempotency key': operation.idemKey,
    tenant: operation.tenant || undefined,
    state: operation.state,
    ...outcomeFields(operation.state, outcome),
    tries: `${operation.attempts} of ${operation.attemptsMax}`,
    refused: operation.refusals > 0 ? `${operation.refusals} times before a try` : undefined,
    'next try': operation.dueAt === null ? undefined : moment(operation.dueAt),
    behind: backing ? `${backing.kind} ${backing.ref}` : undefined,
    accepted: moment(operation.acceptedAt),
    ended: operation.endedAt === null ? undefined : moment(operation.endedAt),
    took: operation.endedAt === null ? undefined : tookOf(operation),
  });
}

/**
 * What came of an operation, as fields.
 * @param outcome - null: there is none yet.
 */
export function outcomeFields(state: Operation['state'], outcome: Operation['outcome']) {
  const data = outcome?.type === 'Ok' ? outcome.data : undefined;
  return {
    outcome: outcome ? shortened(outcomeText(state, outcome), DATA_CHARACTERS_MAX) : undefined,
    data: data === undefined ? undefined : shortened(JSON.stringify(data), DATA_CHARACTERS_MAX),
  };
}

function tookOf({ acceptedAt, endedAt }: Operation): string {
  return duration(endedAt === null ? null : Date.parse(endedAt) - Date.parse(acceptedAt));
}

function outcomeText(state: Operation['state'], outcome: Operation['outcome']): string {
  switch (outcome?.type) {
    case 'Ok':
      return outcome.message === undefined ? 'Ok' : `Ok: ${outcome.message}`;
    case 'Retry':
      return state === 'FAILED'
        ? `gave up after ${pluralize(outcome.attemptCount, 'try', 'tries')}: ${outcome.reason}`
        : `try ${outcome.attemptCount} was not done, another follows: ${outcome.reason}`;
    case 'Fail':
      return `${outcome.errorCode}: ${outcome.message}`;
    default:
      return '-';
  }
}
