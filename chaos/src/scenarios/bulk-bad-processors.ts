import { wait } from '@millrace/async-utils';
import type { DeadLetter, Outcome, SettleAnswer, Settlement } from '@millrace/bulk-action';
import { readLedger } from '@millrace/testkit/ledger';
import { ABORT_GRACE_MS, BAD_DEEDS, badJob } from '../bulk/bad-deeds.js';
import {
  checkCodes,
  checkLetters,
  checkNeighbours,
  checkReplays,
  checkTwiceTold,
  type Replay,
} from '../bulk/check-bad-deeds.js';
import { checkTotals } from '../bulk/check-totals.js';
import { allPages, type Evidence } from '../bulk/evidence.js';
import { type Plan, planJob } from '../bulk/plan.js';
import { type Play, planFor, runPlay } from '../bulk/play.js';
import type { SettledTry } from '../bulk/tries.js';
import { answered } from '../bulk/twice-told.js';
import type { World } from '../bulk/world.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const PAGE = 1000;
const BATCH = 500;
const GROUP_CAP = 5;
const LATE_SUCCESS: Outcome = { kind: 'success' };
const LATE_FAILURE: Outcome = {
  kind: 'failure',
  error: { code: 'LATE', message: 'a failure that comes late' },
  dead: true,
  signature: 'late',
};

/** Every way to misbehave in every group or once in all, among jobs that work. */
function planOf(context: ScenarioContext): Plan {
  const isShort = context.scale < 1;
  const plan = planFor(
    context,
    { groups: 30, jobs: 6000, ms: [10, 60], mixed: false },
    { groups: 4, jobs: 120 },
  );
  const rng = context.rng.fork('bad');
  const kinds = Object.keys(BAD_DEEDS);
  const groups = plan.groups.map(({ input, jobs }, index) => {
    const own = isShort ? kinds.filter((_, at) => at % plan.groups.length === index) : kinds;
    const bad = own.map((kind) => badJob(`bad${kinds.indexOf(kind)}`, kind));
    // One at a time holds the event loop in the short run: each takes one and a half leases.
    const blocks = isShort ? index === 0 : index % 5 === 0;
    const holding = blocks ? [planJob('blocks', { does: 'blocks-first', ms: 20 })] : [];
    // Slots of a cap are held by tries that never end, too, until they are given up.
    const capped = index % 4 === 1 ? { ...input, concurrency: GROUP_CAP } : input;
    return { input: capped, jobs: rng.shuffle([...jobs, ...bad, ...holding]) };
  });
  return { ...plan, groups };
}

const badProcessors: Play = {
  workers: 4,
  shortWorkers: 2,
  slots: 15,
  abortGraceMs: ABORT_GRACE_MS,
  plan: planOf,
  // The processors are the fault.
  storm: () => ({ strike: () => wait(50) }),
  brief: { twiceTold: true },
  staleExpected: true,
  judge,
};

async function judge(evidence: Evidence, world: World): Promise<Verdict[]> {
  const { client, ledgerPath } = world;
  const entries = readLedger(ledgerPath);
  const { deadLetters } = client.opened.engine;
  const letters: DeadLetter[] = await allPages((cursor) => deadLetters.list({}, { limit: PAGE, cursor }));
  const replays = await replayAll(evidence, world);
  const after = await Promise.all(evidence.groups.map(({ id }) => client.service.getGroup(id)));
  return [
    checkLetters(evidence, letters),
    checkCodes(evidence),
    checkNeighbours(evidence),
    checkTotals(evidence, unheardOf(replays)),
    checkTwiceTold(entries),
    checkReplays(evidence.groups, after, replays),
  ];
}

/** Reports every try once more, in the order they were started, each with the contrary of what its job came to. */
async function replayAll({ testimony, jobs }: Evidence, { client }: World): Promise<Replay[]> {
  const { leases } = client.opened.engine.store;
  const heard = new Map(testimony.settled.map((one) => [`${one.job} ${one.token}`, answered(one)]));
  const tries = [...testimony.leases].flatMap(([job, own]) => own.map(({ token }) => ({ job, token })));
  tries.sort((a, b) => a.token - b.token);
  const settlements = tries.map(({ job, token }): Settlement => {
    const [group, jobId = ''] = job.split('#');
    const outcome = jobs.get(job)?.status === 'COMPLETED' ? LATE_FAILURE : LATE_SUCCESS;
    return { key: `/${group}`, jobId, token, durationMs: 1, outcome };
  });
  const answers: SettleAnswer[] = [];
  for (let from = 0; from < settlements.length; from += BATCH)
    answers.push(...(await leases.settle(settlements.slice(from, from + BATCH))));
  return tries.map(({ job, token }, index) => {
    const first = heard.get(`${job} ${token}`);
    return { job, token, first, answer: answered(answers[index]) };
  });
}

/** Those whose answer nobody heard, as the store knows them. */
const unheardOf = (replays: readonly Replay[]): SettledTry[] =>
  replays
    .filter(({ first }) => first === undefined)
    .map(({ job, token, answer }) => {
      const [status = '', jobStatus] = answer.split(' ');
      return { job, token, status, jobStatus };
    });

registerScenario({
  name: 'bulk-bad-processors',
  what: `bulk on Redis: processors that misbehave in ${Object.keys(BAD_DEEDS).length + 1} ways, and settlements sent twice and crossed`,
  run: (context) => runPlay(badProcessors, context),
});
