import { InvalidArgumentError } from 'commander';
import type { Asking } from '../../ask/asking.js';

/** The id of a dead letter. */
export interface LetterId {
  readonly groupId: string;
  readonly jobId: string;
}

/** Maximum ids of one request. A test compares it with DEAD_LETTER_IDS_MAX of the contract. */
export const LETTER_IDS_MAX = 200;

/**
 * Parses ids of dead letters as `dlq list` prints them: `group/job`, or `tenant/group/job`.
 * @throws InvalidArgumentError if an id is malformed or there are more than 200.
 */
export function letterIds(text: string): readonly LetterId[] {
  const ids = text.split(',').map((id) => {
    const [, groupId, jobId] = /^(.+)\/([^/]+)$/.exec(id.trim()) ?? [];
    if (groupId === undefined || jobId === undefined)
      throw new InvalidArgumentError('They must be written group/job, as `millrace dlq list` shows them.');
    return { groupId, jobId };
  });
  // Drop duplicates, or the count would be higher than the number of letters moved.
  const once = [...new Map(ids.map((id) => [letterName(id), id])).values()];
  if (once.length > LETTER_IDS_MAX) throw new InvalidArgumentError(`They must be ${LETTER_IDS_MAX} at most.`);
  return once;
}

/** Formats the id of a dead letter for a command. */
export const letterName = ({ groupId, jobId }: LetterId): string => `${groupId}/${jobId}`;

/** Selects dead letters. Exactly one field is set. */
export interface Selection {
  readonly ids?: readonly LetterId[] | undefined;
  readonly groupId?: string | undefined;
  readonly signature?: string | undefined;
  readonly all?: true | undefined;
}

/** Maximum causes or letters of one page. A test compares it with PAGE_SIZE_MAX of the contract. */
export const SHOWN_AT_ONCE_MAX = 200;
/** Limits the count by pages to 100,000 letters. Only a selection with more than 200 causes needs it. */
const PAGES_MAX = 500;

/** Counts the selected dead letters. Returns `undefined` if there are too many to count. */
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
