import type { ResponseOf, ServerClient } from '@millrace/contract/server-client';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useSession } from '../../data/session.js';

type Details = ResponseOf<'getBatch'>;

/** Results by the keys of their tasks. */
export interface TaskResults {
  readonly byKey: ReadonlyMap<string, unknown>;
  /** Some of those that were asked for are too far down the list. */
  readonly isPartial: boolean;
}

const PAGE_SIZE = 200;
/** The list knows no way to ask for one task; nobody waits for more pages of a batch of hundreds of thousands. */
const PAGES_MAX = 20;

/**
 * What tasks gave, of those that are done. Asked for once: what a task gave changes only when it ends anew.
 */
export function useTaskResults(
  { batch, tasks }: Details,
  keys: readonly string[],
): UseQueryResult<TaskResults, Error> {
  const { client } = useSession();
  const wanted = new Set(keys);
  const ends = tasks.flatMap(({ key, status, endedAt }) =>
    status === 'DONE' && wanted.has(key) ? [[key, endedAt] as const] : [],
  );
  return useQuery({
    queryKey: ['resultsOfTasks', batch.id, ends],
    queryFn: ({ signal }) => resultsOf(client, batch.id, new Set(ends.map(([key]) => key)), signal),
    enabled: ends.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

async function resultsOf(
  client: ServerClient,
  batchId: string,
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<TaskResults> {
  const byKey = new Map<string, unknown>();
  let cursor: string | null | undefined;
  for (let page = 0; page < PAGES_MAX && cursor !== null && byKey.size < wanted.size; page++) {
    const query = { status: 'DONE' as const, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
    const answer = await client.call('listBatchTasks', { params: { batchId }, query }, { signal });
    for (const { key, result } of answer.items) if (wanted.has(key)) byKey.set(key, result);
    cursor = answer.cursor;
  }
  return { byKey, isPartial: byKey.size < wanted.size };
}
