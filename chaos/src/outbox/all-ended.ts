import { wait } from '@millrace/async-utils';
import { asking } from '../postgres.js';

const LOOK_EVERY_MS = 50;

/** How many batches have ended, with nothing of them left to count. */
export const ENDED = `
  SELECT count(*)::int AS count FROM millrace.batch_instance b
  WHERE status <> 'RUNNING' AND NOT EXISTS (SELECT FROM millrace.outbox_tick t WHERE t.batch_id = b.id)`;

/**
 * How long it takes until so many batches have ended, and nothing of them is left to count; as long as was waited when that does not come.
 * @param batches - how many.
 * @param withinMs - how long to wait.
 */
export async function allEnded(url: string, batches: number, withinMs: number): Promise<number> {
  const from = performance.now();
  const took = () => performance.now() - from;
  await asking(url, async (client) => {
    for (; took() < withinMs; await wait(LOOK_EVERY_MS)) {
      const { rows } = await client.query<{ count: number }>(ENDED);
      if (rows[0]?.count === batches) return;
    }
  });
  return took();
}
