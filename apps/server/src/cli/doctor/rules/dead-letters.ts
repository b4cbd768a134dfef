import { amount, duration, moment, percent, pluralize } from '../../show/amounts.js';
import { shellWord, shortened } from '../../show/text.js';
import type { ServerFacts, Signature } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { named } from './instances.js';

const CHECK = 'case.dead-letters';
const CAUSES_TOLD = 3;
const CAUSE_CHARACTERS = 120;
/** When so large a part of what ends is a dead letter, and there are so many, the work as a whole fails. */
const FAILING_SHARE = 0.5;
const FAILING_COUNT = 10;

/** What the rule looks at. */
export type DeadLetterFacts = Pick<
  ServerFacts,
  | 'queues'
  | 'apartMs'
  | 'nowMs'
  | 'points'
  | 'pointMs'
  | 'signatures'
  | 'deadTypes'
  | 'newestLetters'
  | 'resources'
>;

/**
 * Case 4: jobs give up.
 * @returns undefined when there are no dead letters.
 */
export function judgeDeadLetters(facts: DeadLetterFacts): Finding | undefined {
  const { queues, signatures } = facts;
  const total = queues[1].deadLetters;
  if (total === 0) return undefined;
  const { dead, done, withinMs, ofDemo } = recent(facts);
  const causes = signatures.slice(0, CAUSES_TOLD).map(causeOf).join('; ');
  if (dead <= 0)
    return finding('note', CHECK, `${pluralize(total, 'dead letter')}, ${newsOf(ofDemo)}`, {
      seen: causes === '' ? null : `${causes}.`,
      action: actionOf(signatures),
    });
  const share = dead / (dead + done);
  const fails = share >= FAILING_SHARE && dead >= FAILING_COUNT;
  const called = [...calledBy(facts)];
  const title = dead >= FAILING_COUNT ? 'Dead letters are surging' : 'There are new dead letters';
  return finding(fails ? 'failure' : 'warning', CHECK, title, {
    seen: `${pluralize(dead, 'job')} gave up within ${duration(withinMs)}, ${percent(share)} of those that ended; there are ${amount(total)}. ${causes === '' ? '' : `By cause: ${causes}. `}${called.join(' ')}`.trim(),
    action: `Repair what is called first. ${actionOf(signatures)}`,
  });
}

const newsOf = (ofDemo: number): string =>
  ofDemo === 0 ? 'none of them new' : 'those that are new are from the demo, which lets jobs fail on purpose';

/** The larger of what the last minutes and the two looks show: the last minutes may be over by now. */
function recent(facts: DeadLetterFacts) {
  const {
    queues: [before, now],
    apartMs,
    points,
    pointMs,
  } = facts;
  const sum = (rate: (point: (typeof points)[number]) => number) =>
    Math.round(points.reduce((total, point) => total + (rate(point) * pointMs) / 1000, 0));
  const lately = {
    dead: sum(({ jobs }) => jobs.deadLettersPerSecond),
    done: sum(({ jobs }) => jobs.donePerSecond),
    withinMs: points.length * pointMs,
  };
  const dead = now.deadLetters - before.deadLetters;
  // What was started and is no dead letter has ended well, more or less.
  const done = Math.max(0, Math.round((now.startsPerSecond * apartMs) / 1000) - dead);
  return withoutDemo(dead > lately.dead ? { dead, done, withinMs: apartMs } : lately, facts);
}

interface Recent {
  readonly dead: number;
  readonly done: number;
  readonly withinMs: number;
}

/** The rates tell of all together. What the demo lets fail is no news, and where nothing else has failed there is none. */
function withoutDemo(all: Recent, { newestLetters, nowMs, pointMs }: DeadLetterFacts) {
  // A point may have begun before the time that is looked at.
  const since = nowMs - all.withinMs - pointMs;
  const fresh = newestLetters.filter(({ failedAt }) => failedAt >= since);
  const ofDemo = fresh.filter(({ isDemo }) => isDemo).length;
  const isDemoOnly = ofDemo > 0 && ofDemo === fresh.length;
  return { ...all, ofDemo, dead: isDemoOnly ? 0 : Math.max(all.dead - ofDemo, Math.min(all.dead, 1)) };
}

const causeOf = ({ signature, count, lastFailedAt }: Signature): string =>
  `${amount(count)} × ${shortened(signature, CAUSE_CHARACTERS)} (last ${moment(lastFailedAt)})`;

function* calledBy({ deadTypes, resources }: DeadLetterFacts): Generator<string> {
  if (deadTypes.length > 0) yield `They come from the processors ${named(deadTypes)}.`;
  const slow = resources.filter(({ throttles, frozenForMs }) => throttles > 0 || frozenForMs > 0);
  if (slow.length > 0)
    yield `Services that refuse calls: ${named(slow.map(({ resource, throttles }) => `${resource} (${amount(throttles)} times)`))}.`;
}

function actionOf([first]: readonly Signature[]): string {
  const which = first ? `--signature ${shellWord(first.signature)}` : '--all';
  return `All causes: millrace dlq list --by-signature. When it is repaired, run them again: millrace dlq redrive ${which}`;
}
