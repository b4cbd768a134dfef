import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';
import { type Evidence, gatherEvidence } from '../bulk/evidence.js';
import { jobName, type Plan, type PlannedGroup, planJob } from '../bulk/plan.js';
import { checkAll } from '../bulk/play.js';
import { bulkConfig, type CallerBrief, leaseMs } from '../bulk/settings.js';
import { openWorld, type World } from '../bulk/world.js';
import { programFile } from '../programs.js';
import { registerScenario, type ScenarioContext, some, type Verdict } from '../registry.js';

const PROCESSES = 4;
const CALLS = 100;
const KEYS = 100;
const SHORT_KEYS = 5;
const JOBS = 3;
const SCRIPT = { does: 'works', ms: 5 } as const;
const WORKERS = 2;
const SLOTS = 10;
const ENDS_WITHIN_MS = 20_000;
const SAYS_WITHIN_MS = 30_000;

/** The same bulk action is handed in a hundred times at once from four processes, under one key: it happens once. */
async function run(context: ScenarioContext): Promise<Verdict[]> {
  const { scale, rng } = context;
  const config = bulkConfig(scale, SLOTS);
  await using world = await openWorld(context, { workers: WORKERS, config });
  const { client, crew, redis, ledger, ledgerPath } = world;
  const brief = { redis: { url: redis.url }, ledger: ledgerPath, config };
  const keys = Array.from({ length: scale < 1 ? SHORT_KEYS : KEYS }, () => `key-${rng.integer(0, 2 ** 40)}`);
  const callers = Array.from({ length: PROCESSES }, () =>
    callerProcess({ ...brief, calls: CALLS / PROCESSES, jobs: JOBS, script: SCRIPT }),
  );
  try {
    await allSay(callers, 'up');
    for (const key of keys) {
      for (const caller of callers) caller.send(key);
      await allSay(callers, 'done');
    }
  } finally {
    for (const caller of callers) caller.kill('SIGKILL');
  }
  const plan: Plan = { groups: await Promise.all(keys.map((key) => stored(world, key))), tenantCaps: {} };
  for (const { input, jobs } of plan.groups)
    for (const { id } of jobs) ledger.append({ kind: 'acknowledged', group: input.id, id });
  const ended = await client.ended(plan.groups, ENDS_WITHIN_MS).then(
    () => '',
    (error: Error) => error.message,
  );
  const drained = await crew.stop();

  const sources = { ledger: ledgerPath, leaseMs: leaseMs(scale), redisUrls: [redis.url] };
  const evidence = await gatherEvidence(plan, client, sources);
  const entries = readLedger(ledgerPath);
  return [
    { invariant: 'every group ends', held: ended === '', evidence: ended || `${keys.length} groups` },
    ...checkAll(evidence, {}),
    checkOneGroup(entries, keys, evidence),
    checkOneEffect(entries, keys),
    checkCrowd(entries),
    { invariant: 'I11 workers end on SIGTERM', held: drained, evidence: `${crew.deaths} workers died` },
  ];
}

const callerProcess = (brief: CallerBrief): ChildProcess =>
  spawn(process.execPath, [programFile('children/bulk-caller'), JSON.stringify(brief)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

/** Waits for one word of each; one that ends instead, or hangs, will not say it. */
async function allSay(callers: readonly ChildProcess[], word: string): Promise<void> {
  await Promise.all(
    callers.map(async (caller) => {
      const ended = new AbortController();
      const onExit = () => ended.abort();
      caller.once('exit', onExit);
      const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(SAYS_WITHIN_MS)]);
      const [said] = await once(caller, 'message', { signal });
      caller.off('exit', onExit);
      if (said !== word) throw new Error(`expected '${word}' of a caller, got ${JSON.stringify(said)}`);
    }),
  );
}

/** The group of a key as the store has it: its ids were made from the key. */
async function stored({ client }: World, key: string): Promise<PlannedGroup> {
  const id = groupOf(key);
  const { items } = await client.service.listJobs(id, { limit: 1000 });
  return { input: { id }, jobs: items.map((job) => planJob(job.id, SCRIPT)) };
}

const groupOf = (key: string): string => `group-${key}`;

/** One call of each key has registered the jobs, the others found them; every caller was answered. */
function checkOneGroup(
  entries: readonly LedgerEntry[],
  keys: readonly string[],
  evidence: Evidence,
): Verdict {
  const wrong: string[] = [];
  const tries = new Map<string, number>();
  for (const { job } of evidence.testimony.tries) tries.set(job, (tries.get(job) ?? 0) + 1);
  for (const key of keys) {
    const answers = entries.filter((entry) => entry.kind === 'called' && entry.key === key);
    const added = answers.reduce((sum, entry) => sum + Number(entry.added), 0);
    const [group] = evidence.plan.groups.filter(({ input }) => input.id === groupOf(key));
    const jobs = group?.jobs.length ?? 0;
    if (answers.length !== CALLS || added !== JOBS || jobs !== JOBS)
      wrong.push(`${key}: ${answers.length} of ${CALLS} answered, ${added} jobs added, ${jobs} stored`);
    for (const { id } of group?.jobs ?? []) {
      const name = jobName(groupOf(key), id);
      const runs = tries.get(name) ?? 0;
      const explained = 1 + (evidence.jobs.get(name)?.orphanCount ?? 0);
      if (runs < 1 || runs > explained) wrong.push(`${name} ran ${runs} times`);
    }
  }
  const refused = entries.filter(({ kind }) => kind === 'refused');
  wrong.push(...refused.map(({ key, code, message }) => `${key} refused: ${code} ${message}`));
  return {
    invariant: 'one group and one run per key',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${keys.length} keys × ${CALLS} calls: ${JOBS} jobs each`,
  };
}

/** The effect happened once, and everybody was given its result. */
function checkOneEffect(entries: readonly LedgerEntry[], keys: readonly string[]): Verdict {
  const wrong: string[] = [];
  for (const key of keys) {
    const own = entries.filter((entry) => entry.key === key);
    const effects = own.filter(({ kind }) => kind === 'effect').map(({ pid }) => pid);
    const results = new Set(own.filter(({ kind }) => kind === 'called').map(({ result }) => result));
    if (effects.length !== 1 || results.size !== 1 || !results.has(effects[0]))
      wrong.push(`${key}: ${effects.length} effects, ${results.size} results`);
  }
  const busy = entries.filter(({ kind }) => kind === 'busy').length;
  return {
    invariant: 'one effect per key',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${keys.length} effects; told ${busy} times that another was at it`,
  };
}

/** The calls of two processes at least were under way together, or the run shows nothing. */
function checkCrowd(entries: readonly LedgerEntry[]): Verdict {
  let [now, most] = [0, 0];
  for (const { kind } of entries) {
    if (kind === 'calling') now += 1;
    if (kind === 'called') now -= 1;
    most = Math.max(most, now);
  }
  return {
    invariant: 'calls met',
    held: most > CALLS / PROCESSES,
    evidence: `${most} calls of ${PROCESSES} processes under way at once`,
  };
}

registerScenario({
  name: 'bulk-one-key',
  what: `bulk on Redis: ${CALLS} calls at once from ${PROCESSES} processes under one idempotency key, again and again`,
  run,
});
