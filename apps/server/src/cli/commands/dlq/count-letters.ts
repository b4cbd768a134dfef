import type { Asking } from '../../ask/asking.js';
import { type LetterId, letterName } from './letter-ids.js';

/** Which dead letters: exactly one of these. */
export interface Selection {
  readonly ids?: readonly LetterId[] | undefined;
  readonly groupId?: string | undefined;
  readonly signature?: string | undefined;
  readonly all?: true | undefined;
}

/** The most causes, or letters, that a server shows at once: PAGE_SIZE_MAX of the contract, which a test compares. */
export const SHOWN_AT_ONCE_MAX = 200;
/** Counting one by one is the last resort: 100,000 letters of more than 200 causes. */
const PAGES_MAX = 500;

/**
 * How many dead letters there are now.
 * @returns undefined when they are too many to be counted from here.
 */
export async function countLetters(asking: Asking, selection: Selection): Promise<number | undefined> {
  if (selection.ids) return countNamed(asking, selection.ids);
  const { client, signal } = asking;
  const { groupId, signature } = selection;
  const query = { groupId, groupBy: 'signature', limit: SHOWN_AT_ONCE_MAX } as const;
  const { signatures = [] } = await client.call('listDeadLetters', { query }, { signal });
  const meant = signatures.filter((cause) => signature === undefined || cause.signature === signature);
  const isComplete = signatures.length < SHOWN_AT_ONCE_MAX || (signature !== undefined && meant.length > 0);
  return isComplete ? meant.reduce((total, { count }) => total + count, 0) : countOneByOne(asking, selection);
}

async function countNamed({ client, signal }: Asking, ids: readonly LetterId[]): Promise<number> {
  const found = new Set<string>();
  for (const id of ids) {
    const { items = [] } = await client.call('listDeadLetters', { query: { ...id, limit: 1 } }, { signal });
    if (items.length > 0) found.add(letterName(id));
  }
  return found.size;
}

async function countOneByOne(
  { client, signal }: Asking,
  { groupId, signature }: Selection,
): Promise<number | undefined> {
  let count = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = { groupId, signature, limit: SHOWN_AT_ONCE_MAX, cursor };
    const page = await client.call('listDeadLetters', { query }, { signal });
    count += page.items?.length ?? 0;
    if (!page.cursor) return count;
    cursor = page.cursor;
  }
  return undefined;
}
