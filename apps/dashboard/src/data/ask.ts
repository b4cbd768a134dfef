import type { CallRequest, ResponseOf, RouteId } from '@millrace/contract/server-client';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useSession } from './session.js';

/** How something is asked. */
export interface AskOptions<Answer = unknown> {
  /** Also by time, for what no change tells of; while the page is looked at only. A function: by what was answered last. */
  readonly everyMs?: number | false | ((answer: Answer | undefined) => number | false) | undefined;
  /** false: not yet. */
  readonly when?: boolean | undefined;
  /** false: the answer to another question is not shown while this one is on its way. */
  readonly keepsShown?: boolean | undefined;
}

/** What a route answers, kept up to date while it is shown (see freshness.ts). */
export function useAsk<Id extends RouteId>(
  id: Id,
  request: CallRequest<Id>,
  { everyMs = false, when = true, keepsShown = true }: AskOptions<ResponseOf<Id>> = {},
): UseQueryResult<ResponseOf<Id>, Error> {
  const { client } = useSession();
  return useQuery<ResponseOf<Id>, Error>({
    queryKey: [id, request],
    queryFn: ({ signal }) => client.call(id, request, { signal }),
    enabled: when,
    refetchInterval: typeof everyMs === 'function' ? ({ state }) => everyMs(state.data) : everyMs,
    // What somebody reads does not vanish because another page of it is on its way.
    ...(keepsShown && { placeholderData: keepPreviousData as never }),
  });
}
