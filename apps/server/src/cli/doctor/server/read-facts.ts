import { ProblemError, type ResponseOf, type ServerClient } from '@millrace/contract/server-client';
import { type Clock, sleep, toWorkError } from '@millrace/foundation';
import { DEMO_TENANTS } from '../../../demo/plan.js';
import type { Instance, ServerFacts } from '../facts.js';
import { readJobs } from './read-jobs.js';

/** How far back the statistics are looked at, and what one of their points stands for. */
const STATS_MS = 600_000;
const POINT_MS = 10_000;
const GROUPS_LOOKED = 50;
const CAUSES_LOOKED = 10;
const LETTERS_LOOKED = 100;

/** Whom to ask, and how. */
export interface FactsSource {
  readonly client: ServerClient;
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Between the two looks at the queues. */
  readonly watchMs: number;
  /** How far the server's clock is ahead. */
  readonly aheadMs: number;
  readonly isEmbedded: boolean;
}

/** What was read, and what could not be. */
export interface ReadFacts {
  readonly facts: ServerFacts;
  /** One sentence each. */
  readonly unread: readonly string[];
}

/**
 * Reads everything that the rules judge. What the server cannot tell is left out.
 * @throws ProblemError when the queues cannot be read; what `fetch` throws; the signal's reason.
 */
export async function readFacts(source: FactsSource): Promise<ReadFacts> {
  const { client, clock, signal, url, isEmbedded } = source;
  const unread: string[] = [];
  const orElse = async <T>(what: string, answer: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      unread.push(
        `${what}: ${error instanceof ProblemError ? error.problem.detail : toWorkError(error).message}`,
      );
      return otherwise;
    }
  };
  const options = { signal };
  const before = await client.call('getQueues', {}, options);
  const beganAt = clock.monotonicMs();
  const nowMs = clock.now() + source.aheadMs;
  const fairness = { query: { limit: GROUPS_LOOKED } };
  const [instances, { groups }, points, { resources }] = await Promise.all([
    orElse('the instances', readInstances(client, signal), []),
    orElse('the groups', client.call('getFairness', fairness, options), NO_SHARES),
    orElse('the last minutes', readPoints(source, nowMs), []),
    orElse('congestion', client.call('getCongestion', {}, options), { resources: [], group: null }),
  ]);
  const jobs = await orElse('the jobs', readJobs({ client, signal, nowMs }, groups), NO_JOBS);
  await sleep(clock, Math.max(0, source.watchMs - (clock.monotonicMs() - beganAt)), signal);
  signal.throwIfAborted();
  const after = await client.call('getQueues', {}, options);
  const apartMs = clock.monotonicMs() - beganAt;
  const letters = await orElse('the dead letters', readLetters(source, after.deadLetters), NO_LETTERS);
  return {
    unread,
    facts: {
      ...{
        url,
        hasKey: source.apiKey !== undefined,
        nowMs,
        isEmbedded,
        apartMs,
        instances,
        points,
        resources,
        pointMs: POINT_MS,
      },
      ...jobs,
      ...letters,
      queues: [before, after],
    },
  };
}

const NO_SHARES: ResponseOf<'getFairness'> = { tenants: [], groups: [], groupsComplete: false };
const NO_JOBS = { held: [], running: [], payloads: undefined };
type Letters = Pick<ServerFacts, 'signatures' | 'deadTypes' | 'newestLetters'>;
const NO_LETTERS: Letters = { signatures: [], deadTypes: [], newestLetters: [] };

/** The instance that answers knows its own Fetcher now; the others have said it with their last heartbeat. */
async function readInstances(client: ServerClient, signal: AbortSignal): Promise<readonly Instance[]> {
  const [{ items }, own] = await Promise.all([
    client.call('listInstances', {}, { signal }),
    client.call('getPool', {}, { signal }),
  ]);
  return items.map((instance) =>
    instance.instanceId === own.instanceId && instance.pool && own.pool
      ? { ...instance, pool: { ...instance.pool, fetcherRunning: own.pool.fetcherRunning } }
      : instance,
  );
}

async function readPoints({ client, signal }: FactsSource, nowMs: number): Promise<ServerFacts['points']> {
  const query = { from: String(Math.round(nowMs - STATS_MS)), step: '10' } as const;
  const { points } = await client.call('getStats', { query }, { signal });
  return points.filter((point) => point !== null);
}

async function readLetters({ client, signal }: FactsSource, count: number): Promise<Letters> {
  if (count === 0) return NO_LETTERS;
  const [{ signatures = [] }, { items = [] }] = await Promise.all([
    client.call('listDeadLetters', { query: { groupBy: 'signature', limit: CAUSES_LOOKED } }, { signal }),
    client.call('listDeadLetters', { query: { limit: LETTERS_LOOKED } }, { signal }),
  ]);
  const types = items.map(({ job }) => job.processorType);
  const often = (type: string) => types.filter((one) => one === type).length;
  return {
    signatures,
    deadTypes: [...new Set(types)].sort((a, b) => often(b) - often(a)),
    newestLetters: items.map(({ job, failedAt }) => ({
      failedAt: Date.parse(failedAt),
      isDemo: DEMO_TENANTS.includes(job.tenant),
    })),
  };
}
