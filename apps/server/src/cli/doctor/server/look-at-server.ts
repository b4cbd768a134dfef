import { createServerClient, ProblemError, type ResponseOf } from '@millrace/contract/server-client';
import { type Clock, toWorkError } from '@millrace/foundation';
import { amount, pluralize } from '../../show/amounts.js';
import type { ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { type ClockOffset, judgeClocks } from '../rules/clocks.js';
import { judgeDeadLetters } from '../rules/dead-letters.js';
import { judgeGrowingMemory } from '../rules/growing-memory.js';
import { judgeInstances } from '../rules/instances.js';
import { judgeTuning } from '../rules/settings.js';
import { judgeSlowShutdown } from '../rules/slow-shutdown.js';
import { judgeStoppedFetcher } from '../rules/stopped-fetcher.js';
import { judgeBusyWorkers, judgeIdleWorkers, waitingJobs } from '../rules/workers.js';
import { REACH_MS, type Reached, reach } from './reach.js';
import { readFacts } from './read-facts.js';

/** How long one question to a server may take. */
const CALL_MS = 5_000;

/** Which server. */
export interface ServerLook {
  readonly url: string;
  /** Somebody has named it: then it should be there. */
  readonly isNamed: boolean;
  readonly apiKey: string | undefined;
  /** How long its queues are watched. */
  readonly watchMs: number;
  /** Of this program. */
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Looks at a running server through its API; changes nothing.
 * @returns findings as they come.
 * @throws the signal's reason.
 */
export async function* lookAtServer(look: ServerLook): AsyncGenerator<Finding> {
  const reached = await reach(look);
  yield* judgeReached(look, reached);
  if (reached.kind !== 'server') return;
  const clocks = judgeClocks('server.clock', reached.clock ? [reached.clock] : []);
  if (clocks) yield clocks;
  const client = createServerClient({
    baseUrl: look.url,
    apiKey: look.apiKey,
    retries: 0,
    timeoutMs: CALL_MS,
  });
  const { caller, findings } = await lookAtCaller(look, client);
  yield* findings;
  if (!caller) return;
  const aheadMs = middleOf(reached.clock);
  try {
    const { facts, unread } = await readFacts({ ...look, client, aheadMs, isEmbedded: caller.embedded });
    if (unread.length > 0)
      yield finding('warning', 'server.unread', 'Some things could not be looked at', {
        seen: `${unread.join('; ')}.`,
      });
    yield* judgeFacts(facts);
  } catch (error) {
    look.signal.throwIfAborted();
    yield finding('failure', 'server.queues', 'The server cannot say how its work goes', {
      seen: error instanceof ProblemError ? error.problem.detail : toWorkError(error).message,
      action: 'See the checks of its readiness above, and its log.',
    });
  }
}

const middleOf = (clock: ClockOffset | undefined): number => (clock ? (clock.leastMs + clock.mostMs) / 2 : 0);

function judgeReached({ url, isNamed }: ServerLook, reached: Reached): readonly Finding[] {
  if (reached.kind === 'silent')
    return [
      finding(isNamed ? 'failure' : 'note', 'server', `No server answers at ${url}`, {
        seen: `${reached.reason} (waited up to ${REACH_MS} ms).`,
        action: 'Start one with `millrace start`, or name another with --url or MILLRACE_URL.',
      }),
    ];
  if (reached.kind === 'stranger')
    return [
      finding(isNamed ? 'failure' : 'note', 'server', `What answers at ${url} is no Millrace`, {
        seen: `It answers ${reached.status} to GET /health/ready.`,
        action: 'Name the server with --url or MILLRACE_URL.',
      }),
    ];
  if (reached.ok) return [finding('ok', 'server', `The server at ${url} is ready`)];
  return reached.checks
    .filter(({ ok }) => !ok)
    .map(({ name, message }) =>
      finding('failure', 'server', `The server at ${url} is not ready: ${name}`, {
        seen: message ?? 'It says why to a key that is for all tenants (MILLRACE_API_KEY).',
        action: READINESS_ACTIONS[name] ?? null,
      }),
    );
}

const READINESS_ACTIONS: Readonly<Record<string, string>> = {
  database: 'Repair PostgreSQL, or its connection to it; the server comes back by itself.',
  redis: 'Repair Redis, or its connection to it; the server comes back by itself.',
  stopping: 'Ask another instance (--url).',
};

interface CallerLook {
  /** undefined: nothing more can be asked. */
  readonly caller: ResponseOf<'getCaller'> | undefined;
  readonly findings: readonly Finding[];
}

async function lookAtCaller(
  look: ServerLook,
  client: ReturnType<typeof createServerClient>,
): Promise<CallerLook> {
  try {
    const caller = await client.call('getCaller', {}, { signal: look.signal });
    return { caller: caller.tenant === null ? caller : undefined, findings: judgeCaller(look, caller) };
  } catch (error) {
    look.signal.throwIfAborted();
    return { caller: undefined, findings: [refused(error)] };
  }
}

function judgeCaller({ version, url }: ServerLook, caller: ResponseOf<'getCaller'>): readonly Finding[] {
  const { name, role, tenant } = caller;
  const known = finding('ok', 'server.key', `It knows this caller as ${name}, with the role ${role}`);
  const other = finding('note', 'server.version', 'The server is of another version than this program', {
    seen: `${url} is ${caller.version}, this is ${version}.`,
    action: 'What this one does not know of it is not judged: use the same version.',
  });
  const limited = finding('note', 'server.key', 'The key is limited to one tenant', {
    seen: `It may see what belongs to ${tenant}; queues, workers and memory belong to all.`,
    action: 'Look with a key that is for all tenants (name:read:secret in MILLRACE_API_KEYS of the server).',
  });
  return [known, ...(caller.version === version ? [] : [other]), ...(tenant === null ? [] : [limited])];
}

function refused(error: unknown): Finding {
  const status = error instanceof ProblemError ? error.status : 0;
  const seen = error instanceof ProblemError ? error.problem.detail : toWorkError(error).message;
  if (status === 404)
    return finding('note', 'server.role', 'This instance is a worker: it answers for its health only', {
      action: 'Ask an instance with the role api or all (--url).',
    });
  return finding('failure', 'server.key', 'The server does not answer this caller', {
    seen,
    action:
      status === 401
        ? 'Give a key with MILLRACE_API_KEY, or with --api-key; those it knows are in its MILLRACE_API_KEYS.'
        : null,
  });
}

function* judgeFacts(facts: ServerFacts): Generator<Finding> {
  yield* judgeInstances(facts);
  const work = judgeStoppedFetcher(facts) ?? judgeIdleWorkers(facts) ?? judgeBusyWorkers(facts);
  yield work ?? summaryOf(facts);
  const others = [judgeDeadLetters(facts), judgeGrowingMemory(facts), judgeSlowShutdown(facts)];
  for (const judged of others) if (judged) yield judged;
  yield* judgeSettings(facts);
}

function summaryOf({ queues: [, now] }: ServerFacts): Finding {
  const { liveSlots, inFlight, startsPerSecond } = now;
  return finding(
    'ok',
    'work',
    `${pluralize(liveSlots, 'worker')}, ${pluralize(inFlight, 'job')} run, ${amount(waitingJobs(now))} wait, ${amount(startsPerSecond)} start a second`,
  );
}

/** All instances that run jobs should have the same settings: the first stands for them. */
function judgeSettings({ instances }: ServerFacts): readonly Finding[] {
  const first = instances.find(({ alive, stopping, pool }) => alive && !stopping && pool);
  const { pool, workerCount, gracePeriodMs } = first ?? {};
  if (!pool || typeof workerCount !== 'number' || typeof gracePeriodMs !== 'number') return [];
  const grace = { gracePeriodMs, shutdownGracePeriodMs: 0, exitMs: gracePeriodMs };
  return judgeTuning({ ...pool, workerCount, ...grace });
}
