import { wait } from '@millrace/async-utils';
import type { Evidence } from '../bulk/evidence.js';
import { type Plan, planJob } from '../bulk/plan.js';
import { type Play, planFor, runPlay, type Storm } from '../bulk/play.js';
import { leaseMs } from '../bulk/settings.js';
import type { World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const WORKERS = 4;
const ORPHANS_MAX = 3;

/** A worker is killed at each strike; now and then another one sleeps past its lease first. */
function killingStorm(): Storm {
  let sleeper: { readonly place: number; readonly wakesAt: number } | undefined;
  let strikes = 0;
  const wake = ({ crew }: World) => {
    if (sleeper) crew.wake(sleeper.place);
    sleeper = undefined;
  };
  return {
    async strike(world, { rng, scale }) {
      await wait(scale < 1 ? 600 : 1000);
      if (sleeper && performance.now() >= sleeper.wakesAt) wake(world);
      const place = rng.integer(0, WORKERS - 1);
      if (strikes++ % 8 === 0 && !sleeper) {
        world.crew.pause(place);
        // Its leases expire, recovery has a round, and others run its jobs: then it wakes and reports its own.
        sleeper = { place, wakesAt: performance.now() + 1.5 * leaseMs(scale) };
      } else if (place !== sleeper?.place) await world.crew.kill(place);
    },
    async calm(world) {
      wake(world);
    },
  };
}

/** One worker after the other is replaced, as in a roll-out. */
function rollingStorm(): Storm {
  let next = 0;
  return {
    async strike({ crew }, { scale }) {
      await wait(scale < 1 ? 200 : 500);
      await crew.everyoneUp();
      if (!(await crew.dismiss(next++ % crew.size))) throw new Error('a worker did not drain');
    },
  };
}

/** Half of the workers are killed at once, with every slot taken. */
function halvingStorm(slots: number): Storm & { readonly inFlight: number[] } {
  const inFlight: number[] = [];
  return {
    inFlight,
    async strike({ crew, client }, { rng, scale }) {
      await wait(20);
      const queues = await client.service.getQueues();
      if (queues.inFlight < 0.98 * WORKERS * slots || (scale < 1 && inFlight.length > 0)) return;
      inFlight.push(queues.inFlight);
      const places = rng.shuffle(Array.from({ length: WORKERS }, (_, place) => place));
      await Promise.all(places.slice(0, WORKERS / 2).map((place) => crew.kill(place)));
      await crew.everyoneUp();
      // Long enough that what they had in flight comes back and some work gets done.
      await wait(2 * leaseMs(scale));
    },
  };
}

const workersKilled: Play = {
  workers: WORKERS,
  slots: 15,
  plan: (context) => {
    const long = { share: 0.01, ms: 1.5 * leaseMs(context.scale) };
    const plan = planFor(
      context,
      { groups: 200, jobs: 20_000, ms: [20, 200], long, mixed: true },
      { groups: 12, jobs: 300, long: { ...long, share: 0.05 } },
    );
    return withJobs(plan, [planJob('blocks', { does: 'blocks-first', ms: 20 })]);
  },
  storm: killingStorm,
  shortStrikes: 3,
  liveness: true,
  staleExpected: true,
};

/** Jobs that end their process are lost with it each time, until that is enough. */
function poisoned(scale: number): Play {
  const orphansMax = scale < 1 ? 1 : ORPHANS_MAX;
  return {
    workers: WORKERS,
    shortWorkers: 2,
    slots: 10,
    maxOrphanCount: orphansMax,
    plan: (context) => {
      const plan = planFor(
        context,
        { groups: 40, jobs: 8000, ms: [10, 40], mixed: false },
        { groups: 12, jobs: 600 },
      );
      const poisons = Array.from({ length: scale < 1 ? 1 : 5 }, (_, index) =>
        planJob(`poison${index}`, { does: 'exits', ms: 0 }),
      );
      return withJobs(plan, poisons);
    },
    storm: () => ({ strike: () => wait(50) }),
    judge: (evidence) => judgePoison(evidence, orphansMax),
  };
}

function judgePoison({ plan, jobs, results, testimony }: Evidence, orphansMax: number): Verdict[] {
  const poisons = plan.groups.flatMap(({ jobs: own }) => own.filter(({ dead }) => dead)).length;
  const orphaned = [...results.values()].map(({ failedByCode }) => failedByCode.ORPHANED ?? 0);
  const dead = orphaned.reduce((sum, count) => sum + count, 0);
  const burnt = [...jobs.values()].filter(({ retryCount }) => retryCount > 0).length;
  const most = poisons * (orphansMax + 1);
  return [
    {
      invariant: 'poison is dead as ORPHANED',
      held: dead === poisons && testimony.deaths >= orphansMax + 1 && testimony.deaths <= most,
      evidence: `${dead} of ${poisons} dead letters, ${testimony.deaths} processes ended of ${most} at most`,
    },
    {
      invariant: 'neighbours unaffected',
      held: dead === poisons && burnt === 0,
      evidence: `${jobs.size - poisons} neighbours, ${dead - poisons} of them dead, ${burnt} lost a retry`,
    },
  ];
}

const rolledOut: Play = {
  workers: WORKERS,
  shortWorkers: 2,
  slots: 15,
  plan: (context) =>
    planFor(context, { groups: 60, jobs: 10_000, ms: [20, 200], mixed: true }, { groups: 12, jobs: 300 }),
  storm: rollingStorm,
  shortStrikes: 3,
  judge: ({ testimony, jobs }: Evidence): Verdict[] => {
    const givenBack = [...testimony.givenBack.values()].reduce((sum, times) => sum + times, 0);
    const orphans = [...jobs.values()].filter(({ orphanCount }) => orphanCount > 0).length;
    return [
      {
        invariant: 'unfinished jobs given back',
        held: givenBack > 0 && orphans === 0,
        evidence: `${givenBack} given back, ${orphans} jobs had to be recovered instead`,
      },
    ];
  },
};

/** The first group gets these jobs too, ahead of its own. */
const withJobs = (plan: Plan, jobs: Plan['groups'][number]['jobs']): Plan => ({
  ...plan,
  groups: plan.groups.map((group, index) =>
    index === 0 ? { ...group, jobs: [...jobs, ...group.jobs] } : group,
  ),
});

async function runHalfKilled(context: ScenarioContext): Promise<Verdict[]> {
  const slots = context.scale < 1 ? 15 : 250;
  const storm = halvingStorm(slots);
  const verdicts = await runPlay(
    {
      workers: WORKERS,
      slots,
      plan: (given) =>
        planFor(
          given,
          { groups: 100, jobs: 12_000, ms: [1000, 2000], mixed: false },
          { groups: 20, jobs: 240, ms: [100, 300] },
        ),
      storm: () => storm,
      liveness: true,
    },
    context,
  );
  const { inFlight } = storm;
  const many = {
    invariant: 'many in flight',
    held: inFlight.length > 0,
    evidence: `${inFlight.length} times, at least ${Math.min(...inFlight)} in flight`,
  };
  return [...verdicts, many];
}

registerScenario({
  name: 'bulk-workers-killed',
  what: `bulk on Redis: ${WORKERS} workers, 20,000 jobs of 200 groups; one killed -9 each second, one frozen past its lease`,
  run: (context) => runPlay(workersKilled, context),
});
registerScenario({
  name: 'bulk-poison',
  what: 'bulk on Redis: jobs that end their process each time become dead letters, their neighbours do not',
  run: (context) => runPlay(poisoned(context.scale), context),
});
registerScenario({
  name: 'bulk-rolled-out',
  what: 'bulk on Redis: one worker after the other is stopped by SIGTERM with work under way, and replaced',
  run: (context) => runPlay(rolledOut, context),
});
registerScenario({
  name: 'bulk-half-killed',
  what: 'bulk on Redis: half of the workers killed -9 at once with 1,000 jobs in flight',
  run: runHalfKilled,
});
