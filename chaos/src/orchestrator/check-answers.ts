import { isDeepStrictEqual } from 'node:util';
import { counted } from '../outbox/evidence.js';
import { some, type Verdict } from '../registry.js';
import { type Evidence, listed } from './evidence.js';
import { STEPS } from './steps.js';

/** Whoever was told an outcome was told the one that is stored. */
export function checkTold({ operations, testimony: { told } }: Evidence): Verdict {
  const wrong: string[] = [];
  const stored = new Map(operations.map(({ opId, outcome }) => [opId, outcome]));
  const outcomes = told.filter(({ outcome }) => outcome !== undefined);
  for (const { key, opId, by, outcome } of outcomes)
    if (!isDeepStrictEqual(outcome, stored.get(opId)))
      wrong.push(
        `${key} (${by}): told ${JSON.stringify(outcome)}, stored ${JSON.stringify(stored.get(opId))}`,
      );
  return {
    invariant: 'outcomes told are the stored ones',
    held: wrong.length === 0 && outcomes.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : listed(counted(outcomes.map(({ by }) => by))),
  };
}

/** The front door may be later than the budget by so much. */
const LATE_MS = 100;
/** Processes die and start all the time, on a machine with few cores: of the answers so many must be in time. Bars without faults are the bench's. */
const IN_TIME = 0.9;

/**
 * I13: every status URL works, whoever is asked, and answers come within the budget.
 * @param isWhole - times are judged: a short run is one of many that share the machine.
 */
export function checkAnswers({ plan, testimony: { told, waits } }: Evidence, isWhole: boolean): Verdict {
  const wrong: string[] = [];
  const answers = told.filter(({ by }) => by === 'answered');
  const converted = answers.filter(({ status }) => status === 202);
  const looks = told.filter(({ by }) => by === 'looked');
  for (const { key, opId } of converted) {
    const own = looks.filter((look) => look.key === key);
    if (!own.some((look) => look.outcome !== undefined))
      wrong.push(`${key}: its status URL never told an outcome`);
    if (own.some((look) => look.opId !== opId))
      wrong.push(`${key}: its status URL told of another operation`);
  }
  const budgets = new Map(plan.commands.map(({ key, budgetMs }) => [key, budgetMs]));
  const timed = waits.filter(({ stalled }) => !stalled);
  const late = timed.filter(({ key, tookMs }) => tookMs > (budgets.get(key) ?? 0) + LATE_MS);
  const share = 1 - late.length / Math.max(1, timed.length);
  return {
    invariant: 'I13 answers in time, status URLs work',
    held: wrong.length === 0 && converted.length > 0 && (!isWhole || share >= IN_TIME),
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${answers.length - converted.length} outcomes, ${converted.length} status URLs asked ${looks.length} times; ${(100 * share).toFixed(1)} % of ${timed.length} answers within budget + ${LATE_MS} ms`,
  };
}

/** What says "later", and nothing else. */
const CLEAN: readonly string[] = [
  '503 STORE_UNAVAILABLE',
  '503 ORCHESTRATOR_STOPPING',
  '503 BACKEND_UNAVAILABLE',
];

/** A caller is refused with "try again later" and nothing else. */
export function checkRefusals({ testimony: { refusals, cuts } }: Evidence): Verdict {
  const isClean = (refusal: string) => CLEAN.some((clean) => refusal.endsWith(clean));
  return {
    invariant: 'refused cleanly',
    held: Object.keys(refusals).every(isClean),
    evidence: [listed(refusals) || 'no call refused', `${cuts} cut by a death`].join('; '),
  };
}

/** All who bring operations on that have stopped. */
const REPAIRERS = ['finalizer', 'reaper', 'runner', 'watcher'] as const;

/**
 * Who brought how many operations on that had stopped.
 * @param isWhole - each must have done so.
 */
export function checkRepairs({ testimony: { repairs } }: Evidence, isWhole: boolean): Verdict {
  const count = (who: string) => new Set(repairs.filter(({ by }) => by === who).map(({ opId }) => opId)).size;
  const counts = Object.fromEntries(REPAIRERS.map((who) => [who, count(who)]));
  return {
    invariant: 'repaired by',
    held: isWhole ? Object.values(counts).every((number) => number > 0) : repairs.length > 0,
    evidence: listed(counts),
  };
}

/** Processes died at the steps that were planned. */
export function checkKills({ plan, testimony: { kills } }: Evidence, isWhole: boolean): Verdict {
  const wanted = isWhole ? STEPS : [...new Set(plan.kills.map(({ step }) => step))];
  const missed = wanted.filter((step) => !kills.includes(step));
  const held = isWhole ? missed.length === 0 : kills.length > 0;
  const done = `${kills.length} deaths at ${new Set(kills).size} of ${STEPS.length} steps: ${listed(counted(kills))}`;
  return {
    invariant: 'killed at every step',
    held,
    evidence: missed.length > 0 ? `${done}; not reached: ${missed.join(', ')}` : done,
  };
}
