import { wait } from '@millrace/async-utils';
import { until } from '@millrace/testkit';
import { CalledService, type ServiceAnswer } from '../bulk/called-service.js';
import type { Evidence } from '../bulk/evidence.js';
import { type Plan, planJob } from '../bulk/plan.js';
import { planFor, runPlay, type Storm } from '../bulk/play.js';
import { PROCESSOR_TYPE } from '../bulk/settings.js';
import { registerScenario, type ScenarioContext, some, type Verdict } from '../registry.js';

const SLOTS = 15;
const JOBS = 10_000;
const SHORT_JOBS = 500;
const DOWN_MS = 60_000;
const SHORT_DOWN_MS = 1500;
/** In the full run the default of the engine. */
const BACKOFF_MS = 1000;
const SHORT_BACKOFF_MS = 300;
/** Share of the jobs that are done when the service goes down. */
const DONE_BEFORE = 0.1;
/** As many jobs as a process runs at once have to meet the outage, or the run shows nothing. */
const MET_BY = SLOTS;
/** A service that takes nothing is asked now and then, not by everybody: after the first burst so often at most. */
const ASKED_PER_SECOND = 10;
/** Retries are counted in windows of this length; in the busiest there may be so many times the average. */
const WINDOW_MS = 100;
const BUSIEST = 5;
/** Two processes read one clock, each to the millisecond. */
const CLOCK_MS = 2;

/** The service that every job calls answers 503 for a while, with most of the jobs still to be done. */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { scale } = context;
  const workers = scale < 1 ? 2 : 4;
  const throttleBackoffMs = scale < 1 ? SHORT_BACKOFF_MS : BACKOFF_MS;
  await using service = new CalledService();
  await service.start();
  // Awaited here: the service has to live as long.
  return await runPlay(
    {
      workers,
      slots: SLOTS,
      throttleBackoffMs,
      plan: (given) => {
        const size = { groups: 50, jobs: JOBS, ms: [5, 20], mixed: false } as const;
        return calling(service.url, planFor(given, size, { groups: 10, jobs: SHORT_JOBS }));
      },
      storm: () => outage(service, scale < 1 ? SHORT_JOBS : JOBS),
      shortStrikes: 1,
      liveness: true,
      probedType: PROCESSOR_TYPE,
      judge: (evidence) =>
        judge(evidence, service.answers, { backoffMs: throttleBackoffMs, slots: workers * SLOTS }),
    },
    context,
  );
}

/** The same jobs, each with a call to the service. */
const calling = (url: string, plan: Plan): Plan => ({
  ...plan,
  groups: plan.groups.map(({ input, jobs }) => ({
    input,
    jobs: jobs.map(({ id, script }) => planJob(id, { ...script, does: 'calls', url })),
  })),
});

/** Down once, until the time is over and enough jobs have met it. */
function outage(service: CalledService, jobs: number): Storm {
  let over = false;
  return {
    async strike(_world, { scale }) {
      if (over) return wait(50);
      const begins = () => service.answers.length >= DONE_BEFORE * jobs;
      await until(begins, { what: 'the first jobs to be done', deadlineMs: 30_000 });
      service.available = false;
      over = true;
      await wait(scale < 1 ? SHORT_DOWN_MS : DOWN_MS);
      const isMet = () => refusedJobs(service.answers).size >= MET_BY;
      await until(isMet, { what: 'enough jobs to be refused', deadlineMs: 30_000 }).finally(() => {
        service.available = true;
      });
    },
  };
}

const refusedJobs = (answers: readonly ServiceAnswer[]): ReadonlySet<string> =>
  new Set(answers.filter(({ status }) => status === 503).map(({ job }) => job));

function judge(
  { plan, jobs, deadLetters }: Evidence,
  answers: readonly ServiceAnswer[],
  { backoffMs, slots }: { backoffMs: number; slots: number },
): Verdict[] {
  const retries = retriesOf(answers);
  const refused = answers.filter(({ status }) => status === 503);
  const met = refusedJobs(answers).size;
  const calls = plan.groups.flatMap(({ jobs: own }) => own.filter(({ script }) => script.does === 'calls'));
  const burnt = [...jobs.values()].filter(({ retryCount }) => retryCount > 0).length;
  return [
    {
      invariant: 'nothing is dead for it',
      held: deadLetters.size === 0 && burnt === 0 && met >= MET_BY,
      evidence: `${met} of ${calls.length} jobs met it in ${refused.length} calls; ${burnt} lost a retry, ${deadLetters.size} are dead`,
    },
    checkSpared(refused, slots),
    checkServedOnce(answers, calls.length, jobs),
    checkSpread(
      retries.filter(({ status }) => status === 503),
      slots,
    ),
    checkPatience(retries, jobs, backoffMs),
  ];
}

/** Those under way when it went down are refused, once or twice; then congestion control asks with a few. */
function checkSpared(refused: readonly ServiceAnswer[], slots: number): Verdict {
  const seconds = ((refused.at(-1)?.at ?? 0) - (refused[0]?.at ?? 0)) / 1000;
  const most = 2 * slots + ASKED_PER_SECOND * seconds;
  return {
    invariant: 'the service is spared',
    held: refused.length <= most,
    evidence: `${refused.length} calls in ${seconds.toFixed(1)} s, ${Math.floor(most)} at most`,
  };
}

/** I2 as the service sees it: no process died, so only a lease that a slow machine cost may have brought a second call. */
function checkServedOnce(answers: readonly ServiceAnswer[], count: number, jobs: Evidence['jobs']): Verdict {
  const served = answers.filter(({ status }) => status === 200).map(({ job }) => job);
  const again = served.length - new Set(served).size;
  const orphans = [...jobs.values()].reduce((sum, { orphanCount }) => sum + orphanCount, 0);
  return {
    invariant: 'I2 served once',
    held: served.length - again === count && again <= orphans,
    evidence: `${served.length} calls served for ${count} jobs, ${orphans} leases lost`,
  };
}

/** A call that was not the job's first. */
interface Retry extends ServiceAnswer {
  /** Since the job was refused before. */
  readonly afterMs: number;
}

function retriesOf(answers: readonly ServiceAnswer[]): Retry[] {
  const refusedAt = new Map<string, number>();
  const retries: Retry[] = [];
  for (const answer of answers) {
    const before = refusedAt.get(answer.job);
    if (before !== undefined) retries.push({ ...answer, afterMs: answer.at - before });
    if (answer.status === 503) refusedAt.set(answer.job, answer.at);
  }
  return retries;
}

/** Those who were refused do not all return at once; as many as there are slots may. */
function checkSpread(refused: readonly Retry[], slots: number): Verdict {
  const from = refused[0]?.at ?? 0;
  const windows = new Map<number, number>();
  for (const { at } of refused) {
    const window = Math.floor((at - from) / WINDOW_MS);
    windows.set(window, (windows.get(window) ?? 0) + 1);
  }
  const count = Math.max(0, ...windows.keys()) + 1;
  const average = refused.length / count;
  const most = Math.max(0, ...windows.values());
  return {
    invariant: 'retries are spread',
    held: most <= Math.max(slots, BUSIEST * average),
    evidence: `${average.toFixed(0)} in ${WINDOW_MS} ms on average over ${count} windows, ${most} in the busiest`,
  };
}

/** Nobody calls again before the back-off is over, but for a job whose lease was lost: that one has another back-off. */
function checkPatience(retries: readonly Retry[], jobs: Evidence['jobs'], backoffMs: number): Verdict {
  const own = retries.filter(({ job }) => jobs.get(job)?.orphanCount === 0);
  const early = own.filter(({ afterMs }) => afterMs < backoffMs - CLOCK_MS);
  const shortest = own.reduce((least, { afterMs }) => Math.min(least, afterMs), Number.POSITIVE_INFINITY);
  return {
    invariant: 'retries wait their back-off',
    held: early.length === 0 && own.length > 0,
    evidence:
      early.length > 0
        ? some(early.map(({ job, afterMs }) => `${job} after ${afterMs} ms`))
        : `${own.length} retries, ${backoffMs} ms asked for, ${shortest} ms the shortest`,
  };
}

registerScenario({
  name: 'bulk-service-down',
  what: 'bulk on Redis: the called service answers 503 for a minute with 10,000 jobs to be done',
  run,
});
