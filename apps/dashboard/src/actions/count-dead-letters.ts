import type { ServerClient } from '@millrace/contract/server-client';
import { CAUSES_MAX, failuresOf } from '../rules/causes.js';
import type { LetterId, LetterSelection } from '../rules/dead-letter-moves.js';

/** Letters that are looked up side by side. */
const LOOKS_AT_ONCE = 8;

/**
 * How many dead letters a selection has now.
 * @returns undefined where they have more causes than the server tells at once.
 * @throws ProblemError when the server refuses.
 */
export async function countDeadLetters(
  client: Pick<ServerClient, 'call'>,
  selection: LetterSelection,
): Promise<number | undefined> {
  if ('ids' in selection) return (await stillThere(client, selection.ids)).length;
  const groupId = 'groupId' in selection ? selection.groupId : undefined;
  const query = { groupId, groupBy: 'signature', limit: CAUSES_MAX } as const;
  const { signatures = [] } = await client.call('listDeadLetters', { query });
  if ('signature' in selection && selection.signature !== undefined) {
    const cause = signatures.find(({ signature }) => signature === selection.signature);
    return cause?.count ?? (signatures.length < CAUSES_MAX ? 0 : undefined);
  }
  return failuresOf(signatures);
}

async function stillThere(
  client: Pick<ServerClient, 'call'>,
  ids: readonly LetterId[],
): Promise<readonly LetterId[]> {
  const found: LetterId[] = [];
  for (let at = 0; at < ids.length; at += LOOKS_AT_ONCE) {
    const looks = ids.slice(at, at + LOOKS_AT_ONCE).map(async (id) => {
      const { items = [] } = await client.call('listDeadLetters', { query: { ...id, limit: 1 } });
      if (items.length > 0) found.push(id);
    });
    await Promise.all(looks);
  }
  return found;
}
