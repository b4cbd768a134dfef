import type { ResponseOf } from '@millrace/contract/server-client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { type SeenTenant, seenTenants } from '../rules/seen-tenants.js';
import { useAsk } from './ask.js';

/** Most tenants and groups that the server tells of at once. */
export const TOLD_MAX = 200;

/** Who gets which share, with what they got since the page was opened. */
export interface Seen extends Pick<UseQueryResult<ResponseOf<'getFairness'>, Error>, 'data' | 'error'> {
  readonly tenants: readonly SeenTenant[];
  /** When it was told, in milliseconds since 1970. */
  readonly at: number;
}

/** Who gets which share now, each in its place. */
export function useSeenTenants(): Seen {
  const { data, error, dataUpdatedAt } = useAsk('getFairness', { query: { limit: TOLD_MAX } });
  const [seen, setSeen] = useState<Pick<Seen, 'tenants' | 'at'>>({ tenants: [], at: 0 });
  if (!data || dataUpdatedAt === seen.at) return { ...seen, data, error };
  const next = { tenants: seenTenants(seen.tenants, data.tenants, dataUpdatedAt), at: dataUpdatedAt };
  setSeen(next);
  return { ...next, data, error };
}
