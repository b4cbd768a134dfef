/*
 * One worker process of the engine and the outbox, of whichever release it is told. Says `up` to its parent when it works, drains on SIGTERM,
 * and does not outlive its parent.
 */

import { wait } from '@millrace/async-utils';
import type { BulkActionEngine, JobContext } from '@millrace/bulk-action';
import type { TransactionalContext } from '@millrace/outbox';
import { openLedger } from '@millrace/testkit/ledger';
import { KEY_PREFIX } from '../bulk/settings.js';
import { rollingDag } from '../rolling/dag.js';
import { loadFrom } from '../rolling/release.js';
import { ROLLING_PROCESSOR, ROLLING_SLOTS, type RollingBrief } from '../rolling/settings.js';

const brief = JSON.parse(process.argv[2] ?? '{}') as RollingBrief;
const { release, config, leaseMs } = brief;
const ledger = openLedger(brief.ledger);
const bulk = await loadFrom<typeof import('@millrace/bulk-action')>(release, '@millrace/bulk-action');
const bulkOnRedis = await loadFrom<typeof import('@millrace/bulk-action/redis')>(
  release,
  '@millrace/bulk-action/redis',
);
const outboxes = await loadFrom<typeof import('@millrace/outbox')>(release, '@millrace/outbox');
const postgres = await loadFrom<typeof import('@millrace/postgres')>(release, '@millrace/postgres');

const processor = bulk.defineProcessor({
  type: ROLLING_PROCESSOR,
  async process(
    { groupId, id, payload }: { groupId: string; id: string; payload: { ms: number; failsFirst: boolean } },
    { attempt, signal }: JobContext,
  ) {
    await wait(payload.ms, { signal });
    if (payload.failsFirst && attempt === 1) throw new Error('the service failed');
    ledger.append({ kind: 'done', job: `${groupId}#${id}`, release: release.name });
  },
});

/** What the next release keeps of each task; this one knows nothing of it. */
const ADDED = `
  WITH noted AS (
    UPDATE millrace.outbox_evt SET next_count = next_count + 1 WHERE batch_id = $1 AND task_key = $2 RETURNING id
  ), listed AS (INSERT INTO millrace.outbox_next SELECT id FROM noted)
  UPDATE millrace.batch_instance SET next_note = 'added' WHERE id = $1`;

async function writeRow({ tx, batch, taskKey }: TransactionalContext): Promise<void> {
  await tx.query('INSERT INTO public.effect VALUES ($1, $2, $3)', [batch.bizKey, taskKey, release.name]);
  if (release.name === 'new') await tx.query(ADDED, [batch.id, taskKey]);
}

const dag = rollingDag(outboxes, {
  load: async ({ batch }) => {
    ledger.append({ kind: 'loaded', batch: batch.bizKey, release: release.name });
  },
  row: writeRow,
});

const store = bulkOnRedis.openRedisStore(bulk.resolveBulkActionConfig(config), {
  url: brief.redisUrl,
  keyPrefix: KEY_PREFIX,
});
const engine: BulkActionEngine = new bulk.BulkActionEngine({ config, processors: [processor], store });
const database = new postgres.PgDatabase({ url: brief.databaseUrl, poolSize: ROLLING_SLOTS + 4 });
const outbox = new outboxes.Outbox({ database, dags: [dag], concurrency: ROLLING_SLOTS, leaseMs });

process.on('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  await Promise.all([engine.stop(), outbox.stop()]);
  await database.stop();
  process.removeAllListeners('disconnect');
  process.disconnect();
});
await Promise.all([engine.start(), outbox.start()]);
process.send?.('up');
