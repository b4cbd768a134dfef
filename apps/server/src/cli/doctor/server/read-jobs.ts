import { ProblemError, type ResponseOf, type ServerClient } from '@millrace/contract/server-client';
import type { HeldJob, ServerFacts } from '../facts.js';

/** Groups whose jobs are looked at, and jobs of each. */
const GROUPS_MAX = 3;
const WAITING_MAX = 10;
const RUNNING_MAX = 50;

type Group = ResponseOf<'getFairness'>['groups'][number];
type Job = ResponseOf<'listJobs'>['items'][number];

/** Whom to ask. */
export interface JobsSource {
  readonly client: ServerClient;
  readonly signal: AbortSignal;
  /** The server's time. */
  readonly nowMs: number;
}

/**
 * Looks at some jobs of the groups that have the most of them: what those that wait are waiting for, how long those that run have run.
 * @param groups - that have not ended.
 */
export async function readJobs(
  source: JobsSource,
  groups: readonly Group[],
): Promise<Pick<ServerFacts, 'held' | 'running' | 'payloads'>> {
  const [waiting, running] = await Promise.all([
    jobsOf(source, most(groups, 'pending'), { state: 'PENDING', limit: WAITING_MAX }),
    jobsOf(source, most(groups, 'inFlight'), { state: 'PROCESSING', limit: RUNNING_MAX }),
  ]);
  const firsts = await Promise.all(waiting.map(([first]) => first && heldBy(source, first)));
  return {
    held: firsts.filter((one) => one !== undefined),
    running: running
      .flat()
      .map(({ groupId, id, processorType, startedAt }) => ({
        groupId,
        jobId: id,
        processorType,
        runsForMs: startedAt === null ? 0 : Math.max(0, source.nowMs - Date.parse(startedAt)),
      }))
      .sort((a, b) => b.runsForMs - a.runsForMs),
    payloads: sizesOf(waiting.flat()),
  };
}

const most = (groups: readonly Group[], of: 'pending' | 'inFlight'): readonly Group[] =>
  groups
    .filter((group) => group[of] > 0)
    .sort((a, b) => b[of] - a[of])
    .slice(0, GROUPS_MAX);

const jobsOf = (
  { client, signal }: JobsSource,
  groups: readonly Group[],
  query: { readonly state: 'PENDING' | 'PROCESSING'; readonly limit: number },
): Promise<readonly (readonly Job[])[]> =>
  Promise.all(
    groups.map(async ({ groupId }) => {
      const page = await unlessGone(client.call('listJobs', { params: { groupId }, query }, { signal }));
      return page?.items ?? [];
    }),
  );

async function heldBy({ client, signal }: JobsSource, job: Job): Promise<HeldJob | undefined> {
  const params = { groupId: job.groupId, jobId: job.id };
  const explanation = await unlessGone(client.call('explainJob', { params }, { signal }));
  // It may have started meanwhile.
  if (!explanation || ['RUNNING', 'DONE'].includes(explanation.gate)) return undefined;
  const { groupId, id: jobId, processorType } = job;
  return { groupId, jobId, processorType, gates: explanation.gates };
}

/** Work goes on while it is looked at. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return undefined;
    throw error;
  }
}

function sizesOf(jobs: readonly Job[]): ServerFacts['payloads'] {
  if (jobs.length === 0) return undefined;
  const sizes = jobs.map(({ payload }) => Buffer.byteLength(JSON.stringify(payload) ?? ''));
  const sum = sizes.reduce((total, size) => total + size, 0);
  return { looked: jobs.length, meanBytes: sum / jobs.length, maxBytes: Math.max(...sizes) };
}
