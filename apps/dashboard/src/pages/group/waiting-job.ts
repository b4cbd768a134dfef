import type { ServerClient } from '@millrace/contract/server-client';
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSession } from '../../data/session.js';
import { type Explanation, isWaiting } from '../../rules/gates.js';

/** A job that waits, and why. */
export interface WaitingJob {
  /** null: none was found that waits. */
  readonly explanation: Explanation | null;
  /** Where it was found: what is before that has mostly ended. */
  readonly cursor: string | undefined;
}

/** Pages that are looked through: each is as many jobs as a server looks at for one request. */
const PAGES_MAX = 10;
const PAGE_SIZE = 50;
/** The first in line is the one to tell. In a quick group it has started before it can be asked about: then one further behind. */
const TRIED_AT = [0, 4, 16, 49] as const;

/** Why a group waits, told by one of its jobs: the same one until it waits no more. */
export function useWaitingJob(groupId: string): UseQueryResult<WaitingJob, Error> {
  const { client } = useSession();
  const queries = useQueryClient();
  const queryKey = ['explainJob', { waitingOf: groupId }];
  return useQuery<WaitingJob, Error>({
    queryKey,
    queryFn: ({ signal }) => findWaiting(client, groupId, queries.getQueryData<WaitingJob>(queryKey), signal),
  });
}

async function findWaiting(
  client: ServerClient,
  groupId: string,
  before: WaitingJob | undefined,
  signal: AbortSignal,
): Promise<WaitingJob> {
  const explain = (jobId: string) => client.call('explainJob', { params: { groupId, jobId } }, { signal });
  if (before?.explanation) {
    const again = await explain(before.explanation.job.id);
    if (isWaiting(again)) return { ...before, explanation: again };
  }
  let cursor = before?.cursor;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = { state: 'PENDING', limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } as const;
    const page = await client.call('listJobs', { params: { groupId }, query }, { signal });
    for (const job of TRIED_AT.flatMap((at) => page.items[at] ?? [])) {
      const explanation = await explain(job.id);
      if (isWaiting(explanation)) return { explanation, cursor };
    }
    if (page.items.length > 0 || page.cursor === null) break;
    cursor = page.cursor;
  }
  return { explanation: null, cursor: undefined };
}
