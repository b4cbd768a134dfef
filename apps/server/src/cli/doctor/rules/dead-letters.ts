import { amount, duration, moment, percent } from '../../show/amounts.js';
import { shellWord } from '../../show/shell-word.js';
import { shortened, things } from '../../show/shortened.js';
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
  'queues' | 'apartMs' | 'points' | 'pointMs' | 'signatures' | 'deadTypes' | 'resources'
>;

/**
 * Case 4: jobs give up.
 * @param facts - the queues, the last minutes, causes.
 * @returns undefined when there are no dead letters.
 */
export function judgeDeadLetters(facts: DeadLetterFacts): Finding | undefined {
  const { queues, signatures } = facts;
  const total = queues[1].deadLetters;
  if (total === 0) return undefined;
  const { dead, done, withinMs } = recent(facts);
  const causes = signatures.slice(0, CAUSES_TOLD).map(causeOf).join('; ');
  if (dead <= 0)
    return finding('note', CHECK, `${things(total, 'dead letter')}, none of them new`, {
      seen: causes === '' ? null : `${causes}.`,
      action: actionOf(signatures),
    });
  const share = dead / (dead + done);
  const fails = share >= FAILING_SHARE && dead >= FAILING_COUNT;
  const called = [...calledBy(facts)];
  const title = dead >= FAILING_COUNT ? 'Dead letters are surging' : 'There are new dead letters';
  return finding(fails ? 'failure' : 'warning', CHECK, title, {
    seen: `${things(dead, 'job')} gave up within ${duration(withinMs)}, ${percent(share)} of those that ended; there are ${amount(total)}. ${causes === '' ? '' : `By cause: ${causes}. `}${called.join(' ')}`.trim(),
    action: `Repair what is called first. ${actionOf(signatures)}`,
  });
}

/** The larger of what the last minutes and the two looks show: the last minutes may be over by now. */
function recent({ queues: [before, now], apartMs, points, pointMs }: DeadLetterFacts) {
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
  return dead > lately.dead ? { dead, done, withinMs: apartMs } : lately;
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
