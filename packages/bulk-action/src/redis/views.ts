import type { GroupResult, GroupView, JobView, QueuesView, TenantShare, TenantView } from '../model.js';
import type { ExplainFacts } from '../rules/explain.js';
import { largestShares } from '../rules/fair-share.js';
import { durationStatistics } from '../rules/histogram.js';
import { groupIdOf } from '../rules/ids.js';
import { plainCursor } from '../rules/shard-pages.js';
import type { MarkedPage } from '../shard-port.js';
import type { GroupFilter, StoreViews } from '../store-views.js';
import { resourceStates, slownessOf } from './congestion-history.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';

/** Records looked at for one page. */
const SCAN_MAX = 10_000;

/** Views of the store on Redis. */
export const redisViews = (link: EngineLink): StoreViews => ({
  group: async (key) => parsed<GroupView>(await link.run('readGroup', { key })),
  async result(key, round) {
    const text = await link.run('readResult', { key, round: round ?? '-' });
    return text === undefined ? undefined : resultOf(key, JSON.parse(text));
  },
  async job(key, jobId) {
    const text = await link.run('readJob', { key, jobId });
    return text === undefined ? undefined : jobOf(text);
  },
  async groups(filter, limit, cursor) {
    const { marks: _, ...page } = await listGroups(link, filter, limit, cursor);
    return page;
  },
  async activeGroups(limit) {
    const texts = await link.run('listActiveGroups', { limit });
    return texts.map((text) => JSON.parse(String(text)) as GroupView);
  },
  async jobs(key, { state }, limit, cursor) {
    const [next, ...items] = await link.run('listJobs', {
      key,
      status: state ?? '*',
      limit,
      cursor: plainCursor(cursor) ?? 0,
      scanMax: SCAN_MAX,
    });
    return {
      items: items.map((text) => jobOf(String(text))),
      ...(Number(next) >= 0 && { cursor: String(next) }),
    };
  },
  async tenant(tenantId) {
    const [text] = await link.run('readTenants', { tenantId });
    return parsed<TenantView>(text);
  },
  async fairness(limit): Promise<readonly TenantShare[]> {
    const texts = await link.run('readTenants', { tenantId: '' });
    const busy = texts.map((text) => JSON.parse(String(text)) as TenantView);
    return largestShares(busy, limit);
  },
  queues: async () => JSON.parse(await link.run('readQueues', {})) as QueuesView,
  resources: async () => resourceStates(await link.run('readResources', {})),
  slowness: async (key) => slownessOf(await link.run('readSlowness', { key })),
  explain: async (key, jobId) => parsed<ExplainFacts>(await link.run('explain', { key, jobId })),
});

/** Newest first. */
export async function listGroups(
  link: EngineLink,
  { tenant, tenantId, status }: GroupFilter,
  limit: number,
  cursor: string | undefined,
): Promise<MarkedPage<GroupView>> {
  const reply = await link.run('listGroups', {
    tenant: tenant ?? '*',
    tenantId: tenantId ?? '*',
    status: status ?? '*',
    limit,
    cursor: plainCursor(cursor) ?? '-',
    scanMax: SCAN_MAX,
  });
  return markedPage(reply, (text) => JSON.parse(text) as GroupView);
}

/**
 * Reads a page with the cursors behind its items.
 * @param reply - as a script made it: the cursor of the page or 0, then cursor and item in turn.
 * @param itemOf - reads one item.
 */
export function markedPage<T>([next, ...rest]: Values, itemOf: (text: string) => T): MarkedPage<T> {
  const items: T[] = [];
  const marks: string[] = [];
  for (let at = 0; at < rest.length; at += 2) {
    marks.push(String(rest[at]));
    items.push(itemOf(String(rest[at + 1])));
  }
  return { items, marks, ...(Number(next) > 0 && { cursor: String(next) }) };
}

const parsed = <T>(text: string | number | undefined): T | undefined =>
  text === undefined ? undefined : (JSON.parse(String(text)) as T);

/** A job whose payload travels as text; one that cannot be read is left out, the job can still be looked at. */
function jobOf(text: string): JobView {
  return withPayload(JSON.parse(text));
}

/**
 * Reads the payload of a job or a dead letter's copy of one.
 * @param view - as the script made it.
 */
export function withPayload({ payloadText, ...job }: JobView & { payloadText?: string }): JobView {
  if (payloadText === undefined) return job;
  try {
    return { ...job, payload: JSON.parse(payloadText) };
  } catch {
    return job;
  }
}

interface RawResult
  extends Pick<GroupResult, 'round' | 'status' | 'total' | 'success' | 'failed' | 'cancelled'> {
  readonly code?: string;
  readonly message?: string;
  readonly data?: unknown;
  readonly numbers?: GroupResult['numbers'];
  readonly resultsDropped?: number;
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  readonly buckets: Readonly<Record<string, number>>;
  readonly failedByCode: Readonly<Record<string, number>>;
  readonly failedJobs: GroupResult['failedJobs'];
  readonly startedAt?: number;
  readonly endedAt: number;
}

type FromAggregation = Pick<GroupResult, 'message' | 'data' | 'numbers' | 'resultsDropped'>;

const gatheredOf = ({ message, data, numbers, resultsDropped }: RawResult): FromAggregation => ({
  ...(message !== undefined && { message }),
  ...(data !== undefined && { data }),
  ...(numbers !== undefined && { numbers }),
  ...(resultsDropped !== undefined && { resultsDropped }),
});

function resultOf(key: string, raw: RawResult): GroupResult {
  const { round, status, code, total, success, failed, cancelled, startedAt, endedAt } = raw;
  const { count, sum, min, max, failedByCode, failedJobs } = raw;
  const buckets: number[] = [];
  for (const [index, amount] of Object.entries(raw.buckets)) buckets[Number(index)] = amount;
  const durations = { count, sum, min, max, buckets: Array.from(buckets, (amount) => amount ?? 0) };
  return {
    groupId: groupIdOf(key),
    round,
    status,
    ...(code !== undefined && { code }),
    ...gatheredOf(raw),
    total,
    success,
    failed,
    cancelled,
    successRate: success + failed === 0 ? 1 : success / (success + failed),
    averageDurationMs: count === 0 ? 0 : sum / count,
    durations: durationStatistics(durations),
    failedByCode,
    failedJobs,
    ...(startedAt !== undefined && { startedAt }),
    endedAt,
    durationMs: startedAt === undefined ? 0 : Math.max(0, endedAt - startedAt),
  };
}
