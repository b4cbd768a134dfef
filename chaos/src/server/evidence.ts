import {
  BulkActionEngine,
  type GroupView,
  type JobView,
  resolveBulkActionConfig,
} from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';
import { asking } from '../postgres.js';
import type { PlannedCampaign } from './plan.js';
import { KEY_PREFIX } from './settings.js';
import type { ServerWorld } from './world.js';

/** An operation as PostgreSQL has it. */
export interface StoredOperation {
  readonly op: string;
  readonly key: string;
  readonly state: string;
  readonly outcome: unknown;
  /** Its batch. */
  readonly batch: string;
  /** How often it has ended, changes after that included. */
  readonly ends: number;
}

/** What the stores show and what the ledger says, when all is over. */
export interface ServerEvidence {
  readonly campaigns: readonly PlannedCampaign[];
  readonly operations: readonly StoredOperation[];
  readonly openBatches: number;
  readonly openOperations: number;
  readonly groups: readonly GroupView[];
  /** By what the ledger calls their mail. */
  readonly jobs: ReadonlyMap<string, JobView>;
  readonly ledger: readonly LedgerEntry[];
}

const OPERATIONS = `
  SELECT op_id::text AS op, idem_key AS key, state, outcome, backing_ref AS batch,
    (SELECT count(*) FROM operation_end e WHERE e.op_id = o.op_id)::int AS ends
  FROM millrace.operation o`;

const OPEN = `
  SELECT (SELECT count(*) FROM millrace.operation WHERE ended_at IS NULL)::int AS operations,
    (SELECT count(*) FROM millrace.batch_instance WHERE status = 'RUNNING')::int AS batches`;

const PAGE = 1000;

/** How many operations and batches have not ended. */
export const countOpen = (
  world: Pick<ServerWorld, 'postgres'>,
): Promise<{ readonly operations: number; readonly batches: number }> =>
  asking(world.postgres.url, async (client) => (await client.query(OPEN)).rows[0]);

/** Looks at everything. */
export async function gatherServerEvidence(
  world: ServerWorld,
  campaigns: readonly PlannedCampaign[],
): Promise<ServerEvidence> {
  const stored = await asking(world.postgres.url, (client) =>
    client.query<StoredOperation & { readonly outcome: string | null }>(OPERATIONS),
  );
  const operations = stored.rows.map((row) => ({ ...row, outcome: JSON.parse(row.outcome ?? 'null') }));
  const open = await countOpen(world);
  const { groups, jobs } = await lookAtGroups(world.redis.url);
  return {
    campaigns,
    operations,
    openBatches: open.batches,
    openOperations: open.operations,
    groups,
    jobs,
    ledger: readLedger(world.ledgerPath),
  };
}

async function lookAtGroups(url: string): Promise<Pick<ServerEvidence, 'groups' | 'jobs'>> {
  const config = { workerPool: { enabled: false } };
  const store = openRedisStore(resolveBulkActionConfig(config), { url, keyPrefix: KEY_PREFIX });
  const engine = new BulkActionEngine({ config, store });
  await engine.start();
  try {
    const { service } = engine;
    const groups = await allPages((cursor) => service.listGroups({}, { limit: PAGE, cursor }));
    const jobs = new Map<string, JobView>();
    for (const { id } of groups)
      for (const job of await allPages((cursor) => service.listJobs(id, { limit: PAGE, cursor })))
        jobs.set(`/${id}:${job.id}`, job);
    return { groups, jobs };
  } finally {
    await engine.stop();
  }
}

async function allPages<T>(
  list: (cursor: string | undefined) => Promise<{ readonly items: readonly T[]; readonly cursor?: string }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    all.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return all;
}
