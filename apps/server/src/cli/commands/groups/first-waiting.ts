import { ProblemError, type ResponseOf, type ServerClient } from '@millrace/contract/server-client';
import { shortened } from '../../show/text.js';
import type { Group } from './show-group.js';

const REASON_CHARACTERS_MAX = 200;

/** Whether jobs of a group wait while none of them runs. */
export const standsStill = ({ endedAt, progress: { pending, inFlight } }: Group): boolean =>
  endedAt === null && pending > 0 && inFlight === 0;

/**
 * What the first waiting job of a group waits for; undefined when none waits any more.
 * @throws ProblemError when the server refuses; what `fetch` throws.
 */
export async function explainFirstWaiting(
  client: ServerClient,
  groupId: string,
  signal: AbortSignal,
): Promise<ResponseOf<'explainJob'> | undefined> {
  try {
    const request = { params: { groupId }, query: { state: 'PENDING', limit: 1 } } as const;
    const { items } = await client.call('listJobs', request, { signal });
    const [first] = items;
    if (!first) return undefined;
    const params = { groupId, jobId: first.id };
    const explanation = await client.call('explainJob', { params }, { signal });
    return ['RUNNING', 'DONE'].includes(explanation.gate) ? undefined : explanation;
  } catch (error) {
    // It has ended meanwhile, and nobody kept it.
    if (error instanceof ProblemError && error.status === 404) return undefined;
    throw error;
  }
}

/** What a job waits for, on one line; undefined when nothing holds it back. */
export function waitsFor({ gates }: ResponseOf<'explainJob'>): string | undefined {
  if (gates.length === 0) return undefined;
  // What passes by itself is no reason where something else does not.
  const lasting = gates.filter(({ opensInMs }) => opensInMs === null);
  return shortened(
    (lasting.length > 0 ? lasting : gates).map(({ detail }) => detail).join('; '),
    REASON_CHARACTERS_MAX,
  );
}
