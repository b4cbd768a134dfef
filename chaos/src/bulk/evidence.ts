import type { GroupResult, GroupView, JobView, QueuesView } from '@millrace/bulk-action';
import { readLedger } from '@millrace/testkit/ledger';
import { Redis } from 'ioredis';
import type { BulkClient } from './client.js';
import { jobName, type Plan } from './plan.js';
import { type Testimony, testimonyOf } from './tries.js';

/** One key of Redis. */
export interface StoredKey {
  readonly key: string;
  readonly type: string;
}

/** What the store shows and what the ledger says, when all is over. */
export interface Evidence {
  readonly plan: Plan;
  readonly testimony: Testimony;
  readonly groups: readonly GroupView[];
  readonly results: ReadonlyMap<string, GroupResult>;
  readonly jobs: ReadonlyMap<string, JobView>;
  readonly deadLetters: ReadonlySet<string>;
  readonly queues: QueuesView;
  readonly keys: readonly StoredKey[];
}

const PAGE = 1000;

/**
 * Looks at everything.
 * @param sources - the ledger, how long a lease lasts, and every Redis that holds keys.
 */
export async function gatherEvidence(
  plan: Plan,
  client: BulkClient,
  sources: { readonly ledger: string; readonly leaseMs: number; readonly redisUrls: readonly string[] },
): Promise<Evidence> {
  const { service } = client;
  const groups: GroupView[] = [];
  const results = new Map<string, GroupResult>();
  const jobs = new Map<string, JobView>();
  for (const { input } of plan.groups) {
    groups.push(await service.getGroup(input.id));
    const result = await service.getResult(input.id);
    if (result) results.set(input.id, result);
    const listed = await allPages((cursor) => service.listJobs(input.id, { limit: PAGE, cursor }));
    for (const job of listed) {
      const name = jobName(input.id, job.id);
      if (jobs.has(name)) throw new Error(`the store lists ${name} twice`);
      jobs.set(name, job);
    }
  }
  const dead = await allPages((cursor) => client.opened.engine.deadLetters.list({}, { limit: PAGE, cursor }));
  return {
    plan,
    testimony: testimonyOf(readLedger(sources.ledger), sources.leaseMs),
    groups,
    results,
    jobs,
    deadLetters: new Set(dead.map(({ job }) => jobName(job.groupId, job.id))),
    queues: await service.getQueues(),
    keys: (await Promise.all(sources.redisUrls.map(allKeys))).flat(),
  };
}

/** Everything of a list that is read page by page. */
export async function allPages<T>(
  read: (cursor: string | undefined) => Promise<{ readonly items: readonly T[]; readonly cursor?: string }>,
): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.cursor;
    if (cursor === undefined) return items;
  }
}

async function allKeys(url: string): Promise<StoredKey[]> {
  const redis = new Redis(url, { protocol: 2 });
  try {
    const keys = new Set<string>();
    for await (const found of redis.scanStream({ count: PAGE })) for (const key of found) keys.add(key);
    const names = [...keys];
    const types = await Promise.all(names.map((key) => redis.type(key)));
    return names.map((key, index) => ({ key, type: types[index] ?? 'none' }));
  } finally {
    redis.disconnect();
  }
}
