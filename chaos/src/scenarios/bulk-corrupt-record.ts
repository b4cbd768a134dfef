import { readLedger, until } from '@millrace/testkit';
import { Redis } from 'ioredis';
import { checkNoLoss, checkNothingLeft } from '../bulk/check-ends.js';
import { checkKeys } from '../bulk/check-keys.js';
import { checkExecutions } from '../bulk/check-tries.js';
import { type Evidence, gatherEvidence } from '../bulk/evidence.js';
import { type Deed, drawPlan, jobName, type PlannedGroup, planJob } from '../bulk/plan.js';
import { bulkConfig, KEY_PREFIX, leaseMs } from '../bulk/settings.js';
import { openWorld, type World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const WORKERS = 2;
const SLOTS = 10;
const ENDS_WITHIN_MS = 60_000;
const RUN_MS = 400;

/** What happens to a record: somebody overwrites it, half of it is gone, another program writes what it takes for one. */
const DAMAGES: readonly ((record: Buffer) => Buffer)[] = [
  () => Buffer.from('\u0000not a record\u00ff'),
  (record) => record.subarray(0, record.length / 2),
  () => Buffer.from(''),
  () => Buffer.from('5'),
  () => Buffer.from('{"id":"j1"}'),
];

/** What is kept of a job, and where: its record, its lease while it runs, the state of its tries while it waits again. */
const PLACES: Record<
  'record' | 'lease' | 'tries',
  (victim: Victim) => readonly [key: string, field: string]
> = {
  record: ({ group, id }) => [`j:/${group}`, id],
  lease: ({ group, id }) => ['fl', `/${group}/${id}`],
  tries: ({ group, id }) => [`s:/${group}`, id],
};

interface Victim {
  readonly group: string;
  readonly id: string;
  readonly part: keyof typeof PLACES;
}

const nameOf = ({ group, id }: Victim): string => jobName(group, id);

/** Damages what is kept of waiting, running and failed jobs: all others end as if nothing had happened. */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { rng, scale } = context;
  await using world = await openWorld(context, { workers: WORKERS, config: bulkConfig(scale, SLOTS) });
  const { client, crew, ledgerPath } = world;
  const size = {
    groups: DAMAGES.length + 2,
    jobs: scale < 1 ? 140 : 3500,
    ms: [10, 40],
    mixed: false,
  } as const;
  const plan = drawPlan(rng.fork('plan'), size);
  const lively: PlannedGroup[] = [
    groupOf('running-record', 'works'),
    groupOf('running-lease', 'works'),
    groupOf('failed-tries', 'fails-first'),
  ];
  const all = { ...plan, groups: [...plan.groups, ...lively] };

  for (const { input } of plan.groups) {
    await client.service.createGroup(input);
    await client.service.pauseGroup(input.id);
  }
  await client.submit(all, rng.fork('submit'));
  const waiting = plan.groups
    .slice(0, DAMAGES.length)
    .map(({ input, jobs }): Victim => ({ group: input.id, id: rng.pick(jobs).id, part: 'record' }));
  for (const [index, victim] of waiting.entries()) await damage(world, victim, index);
  const running = await damageLively(world);
  for (const { input } of plan.groups) await client.service.resumeGroup(input.id);

  const ended = await client.ended(all.groups, ENDS_WITHIN_MS).then(
    () => '',
    (error: Error) => error.message,
  );
  const drained = await crew.stop();
  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [world.redis.url] };
  const evidence = await gatherEvidence(all, client, sources);
  const others = withoutVictims(evidence, [...waiting, ...running]);
  return [
    { invariant: 'every group ends', held: ended === '', evidence: ended || `${all.groups.length} groups` },
    checkNoLoss(others),
    checkQuarantine(evidence, waiting, running),
    checkExecutions(others),
    checkNothingLeft(evidence),
    checkKeys(evidence),
    { invariant: 'I11 workers end on SIGTERM', held: drained, evidence: `${crew.deaths} workers died` },
  ];
}

/** A job to be damaged while it lives, and neighbours of its group. */
const groupOf = (id: string, does: Deed): PlannedGroup => ({
  input: { id },
  jobs: [
    planJob('victim', { does, ms: RUN_MS }),
    ...[1, 2, 3].map((n) => planJob(`j${n}`, { does: 'works', ms: RUN_MS })),
  ],
});

async function damageLively(world: World): Promise<Victim[]> {
  const { client, ledgerPath } = world;
  const victims: Victim[] = [
    { group: 'running-record', id: 'victim', part: 'record' },
    { group: 'running-lease', id: 'victim', part: 'lease' },
    { group: 'failed-tries', id: 'victim', part: 'tries' },
  ];
  const has = (kind: string, victim: Victim) =>
    readLedger(ledgerPath).some((entry) => entry.kind === kind && entry.job === nameOf(victim));
  for (const victim of victims) {
    await until(() => has('began', victim), { what: `${nameOf(victim)} to run` });
    if (victim.part !== 'tries') await damage(world, victim, 0);
  }
  const [failed] = victims.slice(-1);
  if (failed) {
    // Held while its first try runs: it fails, and waits with the state of that try.
    await client.service.pauseGroup(failed.group);
    await until(() => has('settled', failed), { what: 'its first try to be settled' });
    await damage(world, failed, 0);
    await client.service.resumeGroup(failed.group);
  }
  return victims;
}

async function damage({ redis }: World, victim: Victim, kind: number): Promise<void> {
  const client = new Redis(redis.url, { protocol: 2 });
  try {
    const [name, field] = PLACES[victim.part](victim);
    const key = `${KEY_PREFIX}{0}:${name}`;
    const value = await client.hgetBuffer(key, field);
    if (!value) throw new Error(`${key} has no ${field}`);
    await client.hset(key, field, DAMAGES[kind]?.(value) ?? '');
  } finally {
    client.disconnect();
  }
}

function withoutVictims(evidence: Evidence, victims: readonly Victim[]): Evidence {
  const names = new Set(victims.map(nameOf));
  const { testimony, jobs } = evidence;
  return {
    ...evidence,
    jobs: new Map([...jobs].filter(([name]) => !names.has(name))),
    testimony: {
      ...testimony,
      acknowledged: new Set([...testimony.acknowledged].filter((name) => !names.has(name))),
    },
  };
}

/**
 * A damaged job that had not begun counts as failed, so that its group can end, and never runs. One that had begun is
 * counted once; its try may still say as what. None of their neighbours is touched.
 */
function checkQuarantine(
  { plan, groups, testimony }: Evidence,
  waiting: readonly Victim[],
  running: readonly Victim[],
): Verdict {
  const wrong: string[] = [];
  for (const { input, jobs } of plan.groups) {
    const counts = groups.find(({ id }) => id === input.id)?.counts;
    const bad = waiting.filter(({ group }) => group === input.id).length;
    const either = running.filter(({ group }) => group === input.id).length;
    const { success = 0, failed = 0 } = counts ?? {};
    if (success + failed !== jobs.length || failed < bad || failed > bad + either) {
      wrong.push(`${input.id}: ${bad + either} of ${jobs.length} damaged, counts ${JSON.stringify(counts)}`);
    }
  }
  const names = new Set(waiting.map(nameOf));
  const ran = testimony.tries.filter(({ job }) => names.has(job)).length;
  return {
    invariant: 'only damaged jobs quarantined',
    held: wrong.length === 0 && ran === 0,
    evidence:
      wrong.join('; ') || `${waiting.length} waiting and ${running.length} lively ones, each counted once`,
  };
}

registerScenario({
  name: 'bulk-corrupt-record',
  what: 'bulk on Redis: records of waiting, running and failed jobs damaged; only those jobs are set aside',
  run,
});
