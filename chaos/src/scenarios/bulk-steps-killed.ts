import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import type { BulkActionConfig } from '@millrace/bulk-action';
import type { Rng } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit/ledger';
import {
  checkAddedUpOnce,
  checkCancelled,
  checkKilledAtEveryStep,
  checkNothingRepaired,
} from '../bulk/check-steps.js';
import { FLAKY, LOCK_TTL_MS } from '../bulk/counting-aggregator.js';
import { gatherEvidence } from '../bulk/evidence.js';
import { drawPlan, type Plan, type PlannedGroup, planJob } from '../bulk/plan.js';
import { checkAll, checkFront } from '../bulk/play.js';
import { bulkConfig, leaseMs, PROCESSOR_TYPE } from '../bulk/settings.js';
import { type DeathsBrief, deedOf, drawDeaths, dueDeaths, endFaults, STEPS, undied } from '../bulk/steps.js';
import { openWorld, type World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

interface Size {
  readonly workers: number;
  /** At so many steps a process dies. */
  readonly steps: number;
  /** Work comes in waves until all have died; the last waves are for what is seldom. */
  readonly wavesMax: number;
  readonly groups: number;
  readonly jobs: number;
}

const FULL: Size = { workers: 4, steps: STEPS.length, wavesMax: 100, groups: 12, jobs: 240 };
const SHORT: Size = { workers: 2, steps: 3, wavesMax: 12, groups: 4, jobs: 24 };
const SLOTS = 8;
const ENDS_WITHIN_MS = 60_000;
const PROVOKE_EVERY_MS = 100;
const CANCELLED_JOBS = 30;

/** As usual, but what looks after groups comes often. */
const configOf = (scale: number): BulkActionConfig => ({
  ...bulkConfig(scale, SLOTS),
  watcher: { intervalMs: 300, lockTtlMs: LOCK_TTL_MS },
});

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale, folder } = context;
  const size = scale < 1 ? SHORT : FULL;
  const marks = join(folder, 'marks');
  mkdirSync(marks);
  const deaths: DeathsBrief = { deaths: drawDeaths(rng.fork('deaths'), size.steps), marks };
  await using world = await openWorld(context, {
    workers: size.workers,
    config: configOf(scale),
    brief: { deaths },
  });
  const { client, crew, redis, ledgerPath } = world;
  const provoker = new Provoker(world, deaths, rng.fork('provoker'));
  const provoked = provoker.run();
  provoked.catch(() => {}); // Told below, when the work is over too.
  const plan = await playWaves(world, deaths, size, rng.fork('waves')).finally(() => provoker.stop());
  await provoked;
  endFaults(deaths);
  await crew.everyoneUp();
  const drained = await crew.stop();

  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [redis.url] };
  const cancelled = await Promise.all(provoker.cancelled.map((id) => client.service.getGroup(id)));
  await sweepAll(world);
  const evidence = await gatherEvidence(plan, client, sources);
  const entries = readLedger(ledgerPath);
  return [
    checkKilledAtEveryStep(entries, deaths.deaths),
    ...checkAll(evidence, {}),
    checkAddedUpOnce(evidence, entries),
    checkNothingRepaired(entries),
    checkCancelled(cancelled),
    checkFront(client.refusals, client.unclean),
    { invariant: 'I11 workers end on SIGTERM', held: drained, evidence: `${crew.deaths} workers died` },
  ];
}

/** Hands in one wave after the other until every planned death has come. */
async function playWaves(world: World, deaths: DeathsBrief, size: Size, rng: Rng): Promise<Plan> {
  const { client } = world;
  const groups: PlannedGroup[] = [];
  let tenantCaps = {};
  for (let wave = 0; wave < size.wavesMax && (wave === 0 || undied(deaths).length > 0); wave++) {
    const due = new Set(undied(deaths).map(({ step }) => deedOf(step)));
    const plan = drawWave(rng.fork(`wave${wave}`), wave, size, due.has('fail aggregation'));
    tenantCaps = plan.tenantCaps;
    await client.submit(plan, rng.fork(`submit${wave}`));
    await client.ended(plan.groups, ENDS_WITHIN_MS);
    groups.push(...plan.groups);
  }
  return { groups, tenantCaps };
}

/** Some of each kind of job, whatever was drawn; one group that cannot be added up at first where that is wanted. */
function drawWave(rng: Rng, wave: number, { groups, jobs }: Size, flaky: boolean): Plan {
  const plan = drawPlan(rng, { groups, jobs, ms: [20, 150], mixed: true });
  const sure = [
    planJob('fails', { does: 'fails-first', ms: 20 }),
    planJob('refused', { does: 'refuses', ms: 20 }),
    planJob('dead', { does: 'fails-always', ms: 20 }),
  ];
  return {
    ...plan,
    groups: plan.groups.map((group, index) => ({
      input: { ...group.input, id: `w${wave}-${group.input.id}${index === 0 && flaky ? `-${FLAKY}` : ''}` },
      jobs: index === 0 ? [...sure, ...group.jobs] : group.jobs,
    })),
  };
}

/** Brings about what does not come by itself: processes that are stopped, leases that expire, groups that are cancelled. */
class Provoker {
  /** Groups that it has cancelled. */
  readonly cancelled: string[] = [];
  readonly #world: World;
  readonly #deaths: DeathsBrief;
  readonly #rng: Rng;
  #over = false;

  constructor(world: World, deaths: DeathsBrief, rng: Rng) {
    this.#world = world;
    this.#deaths = deaths;
    this.#rng = rng;
  }

  stop(): void {
    this.#over = true;
  }

  async run(): Promise<void> {
    const { crew, client } = this.#world;
    for (; !this.#over; await wait(PROVOKE_EVERY_MS)) {
      // Whoever is stopped while it starts, or with nothing to do, comes to none of its last steps.
      await crew.everyoneUp();
      const { inFlight } = await client.service.getQueues();
      const due = new Set(dueDeaths(this.#deaths).map(({ step }) => deedOf(step)));
      if (inFlight === 0) continue;
      const place = this.#rng.integer(0, crew.size - 1);
      if (due.has('give back') || due.has('leave')) await crew.dismiss(place);
      if (due.has('sweep')) await this.#cancelOne();
      // A lease that expires is recovered; and who takes the dead one's place sweeps first of all.
      if (due.has('recover') || due.has('sweep')) await crew.kill(place);
    }
  }

  async #cancelOne(): Promise<void> {
    const { service } = this.#world.client;
    const id = `cancelled${this.cancelled.length}`;
    const payload = { does: 'works', ms: 200 };
    const jobs = Array.from({ length: CANCELLED_JOBS }, () => ({ processorType: PROCESSOR_TYPE, payload }));
    await service.submitBulk({ id }, jobs);
    const { changed } = await service.cancelGroup(id);
    if (changed) this.cancelled.push(id);
  }
}

/** What the last ones left to be swept is no matter of this scenario's patience. */
async function sweepAll({ client }: World): Promise<void> {
  const { upkeep } = client.opened.engine.store;
  while ((await upkeep.sweep(1000)).more);
}

registerScenario({
  name: 'bulk-steps-killed',
  what: `bulk on Redis: a worker killed -9 before and after each of the ${STEPS.length / 2} things that workers do, each call of the store among them`,
  run,
});
