import type { ResponseOf } from '@millrace/contract/server-client';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Range } from '../rules/ranges.js';
import { useSession } from './session.js';

/** What happened in the last hours. */
export type Stats = ResponseOf<'getStats'>;

/** A new point comes so often. */
const POINT_EVERY_MS = 10_000;

/** What happened in a time up to now. */
export function useStats({ id, step, minutes }: Range): UseQueryResult<Stats, Error> {
  const { client } = useSession();
  return useQuery({
    queryKey: ['getStats', id],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - minutes * 60_000).toISOString();
      return client.call('getStats', { query: { step, from } }, { signal });
    },
    refetchInterval: POINT_EVERY_MS,
    placeholderData: keepPreviousData,
  });
}
