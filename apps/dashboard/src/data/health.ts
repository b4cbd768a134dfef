import type { HealthBody, HealthCheck } from '@millrace/contract';
import { useQuery } from '@tanstack/react-query';
import { useSession } from './session.js';

const LOOK_EVERY_MS = 5_000;

/** What the server needs and how it is; undefined: nobody has answered. */
export interface Health {
  readonly checks: readonly HealthCheck[] | undefined;
  /** Since when the server itself has not answered, by the clock of this browser, in milliseconds since 1970. */
  readonly awaySince: number | undefined;
}

let awaySince: number | undefined;

/** How the backends are, and whether the server answers at all. */
export function useHealth(): Health {
  const { apiKey } = useSession();
  const { data, isError } = useQuery({
    queryKey: ['health', apiKey ?? ''],
    queryFn: async ({ signal }): Promise<HealthBody> => {
      try {
        // Not by the client: 503 is an answer here, and it is not to be asked again at once.
        const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
        const response = await fetch('/health/ready', { signal, headers });
        const body = (await response.json()) as HealthBody;
        awaySince = undefined;
        return body;
      } catch (error) {
        if (!signal.aborted) awaySince ??= Date.now();
        throw error;
      }
    },
    refetchInterval: LOOK_EVERY_MS,
  });
  return { checks: data?.checks, awaySince: isError ? awaySince : undefined };
}
