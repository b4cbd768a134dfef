import type { CallRequest } from '@millrace/contract/server-client';

/** What the list can be filtered by, as the address has it. */
export const FILTERS = ['tenant', 'domain', 'eventType', 'bizKey', 'state', 'deadLetter'] as const;

/** A filter of the list. */
export type FilterName = (typeof FILTERS)[number];

type Query = NonNullable<CallRequest<'listOperations'>['query']>;

/** The states that an operation can be in, in the order of its life. */
export const STATES = ['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED'] as const;

/**
 * What is asked for a list with these filters; a state that there is none is as if none was wanted.
 * @param values - '' for one that is not set.
 */
export function listQueryOf(values: Readonly<Record<FilterName, string>>): Query {
  const { deadLetter, state, ...texts } = values;
  const wanted = STATES.find((name) => name === state);
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(wanted && { state: wanted }),
    ...(deadLetter === 'true' && { deadLetter: 'true' }),
  };
}
