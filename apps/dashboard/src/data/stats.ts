import type { ResponseOf } from '@millrace/contract/server-client';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useSession } from './session.js';

/** A time span up to now. */
export interface Range {
  readonly id: string;
  readonly name: string;
  readonly minutes: number;
  /** Seconds between two points, as the server stores them. */
  readonly step: '10' | '60';
}

/** The ranges to choose from. The server keeps points of 10 s for an hour and points of a minute for a day. */
export const RANGES = [
  { id: '15m', name: '15 min', minutes: 15, step: '10' },
  { id: '1h', name: 'hour', minutes: 60, step: '10' },
  { id: '6h', name: '6 hours', minutes: 360, step: '60' },
  { id: '24h', name: 'day', minutes: 1_440, step: '60' },
] as const satisfies readonly Range[];

/** Returns the range of an id. An unknown id gets the shortest. */
export const rangeOf = (id: string): Range => RANGES.find((range) => range.id === id) ?? RANGES[0];

/** The statistics of a range, point by point. */
export type Stats = ResponseOf<'getStats'>;

/** The server adds a point at this interval. */
const POINT_EVERY_MS = 10_000;

/** Reads the statistics of a range and keeps them up to date. */
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
