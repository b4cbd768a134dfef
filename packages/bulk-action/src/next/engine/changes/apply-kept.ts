import { forgetFailure } from '../../../rules/failure-codes.js';
import type {
  AggregationMoved,
  GroupReopened,
  JobEnded,
  JobsRedriven,
  LettersGone,
  LettersReturned,
} from '../state/change.js';
import { type EndKept, Kept } from '../state/kept.js';
import { firstPosition, queueOfChunk } from '../state/position.js';
import type { Group } from '../state/records.js';
import type { Recorded } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

type IsNewTo = (record: Recorded) => boolean;

/** Names of numbers that a group sums up. Further ones are not counted. */
const NUMBER_NAMES_MAX = 100;

function keptOf(group: Group): Kept {
  group.kept ??= new Kept();
  return group.kept;
}

/** A job ends and leaves something behind. */
export function keepEnd(group: Group, end: EndKept): void {
  const kept = keptOf(group);
  const { resultBytes, isDropped, numbers, aggregator } = end;
  if (resultBytes !== undefined) {
    kept.results += 1;
    kept.resultBytes += resultBytes;
  }
  if (isDropped) kept.resultsDropped += 1;
  if (aggregator !== undefined && !kept.aggregators.includes(aggregator)) kept.aggregators.push(aggregator);
  for (const name in numbers) countNumber(kept, name, numbers[name] as number);
  if (end.isDetailed) kept.details += 1;
  if (end.isLetter) kept.letters += 1;
}

/** Counts a letter of a job that ended. */
export function countLetter({ shard }: EngineState, { kept }: JobEnded, isNewTo: IsNewTo): void {
  if (kept?.isLetter && isNewTo(shard)) shard.letters += 1;
}

function countNumber({ numbers }: Kept, name: string, value: number): void {
  const sums = numbers.get(name);
  if (sums) {
    sums.count += 1;
    sums.sum += value;
    sums.min = Math.min(sums.min, value);
    sums.max = Math.max(sums.max, value);
  } else if (numbers.size < NUMBER_NAMES_MAX)
    numbers.set(name, { count: 1, sum: value, min: value, max: value });
}

/** Jobs of dead letters are queued again, in a new chunk. */
export function redrive({ shard }: EngineState, change: JobsRedriven, isNewTo: IsNewTo): void {
  const { group, address, codes } = change;
  const jobs = change.failed + change.cancelled + change.added;
  if (isNewTo(group)) {
    const kept = keptOf(group);
    const queue = group.queueOf(queueOfChunk(address));
    queue.tail = Math.max(queue.tail, firstPosition(address + 1));
    if (firstPosition(address) < queue.next) queue.late.push(address);
    group.registered += change.added;
    group.failed -= change.failed;
    group.cancelled -= change.cancelled;
    for (const [code, count] of codes)
      for (let left = count; left > 0; left--) forgetFailure(group.codes ?? new Map(), code);
    if (group.codes?.size === 0) group.codes = undefined;
    kept.details = Math.max(0, kept.details - change.details);
    kept.letters = Math.max(0, kept.letters - jobs);
    kept.redriven.add(address);
    group.progressMs = Math.floor(change.atUs / 1000);
  }
  if (isNewTo(shard)) shard.letters = Math.max(0, shard.letters - jobs);
}

/** Redriven jobs whose round was cut are dead letters again. */
export function returnLetters({ shard }: EngineState, change: LettersReturned, isNewTo: IsNewTo): void {
  const { group, address, letters } = change;
  if (isNewTo(group)) {
    const kept = keptOf(group);
    kept.owed.delete(address);
    kept.letters += letters;
    group.outcomes.delete(address);
  }
  if (isNewTo(shard)) shard.letters += letters;
}

/** The journal has deleted letters. */
export function forgetLetters({ shard }: EngineState, change: LettersGone, isNewTo: IsNewTo): void {
  const { group, letters } = change;
  if (group?.kept && isNewTo(group)) group.kept.letters = Math.max(0, group.kept.letters - letters);
  if (isNewTo(shard)) shard.letters = Math.max(0, shard.letters - letters);
}

/** The internal job of a round waits, runs or waits again. */
export function moveAggregation(change: AggregationMoved): void {
  const { attempt, failures, instanceId, dueMs } = change;
  keptOf(change.group).aggregation = { attempt, failures, instanceId, dueMs };
}

/** A round of an open group begins: it has nothing of the earlier ones but their letters. */
export function beginKept(kept: Kept): void {
  kept.resultsFrom = kept.results;
  kept.resultBytes = 0;
  kept.resultsDropped = 0;
  kept.details = 0;
  kept.aggregators.length = 0;
  kept.numbers.clear();
}

/** An ended group goes on with its counters in the next round: jobs of it are redriven. */
export function reopen({ group, atUs }: GroupReopened): void {
  group.round += 1;
  group.status = 'RUNNING';
  group.code = undefined;
  group.endedMs = undefined;
  // Also if it was cut before its seal: no caller can add to it any more, so it must be able to end.
  group.isSealed = true;
  group.progressMs = Math.floor(atUs / 1000);
}

/** A round was cut: what it owes of redriven jobs is kept, unless a caller cancelled them. */
export function cutKept(group: Group): void {
  const { kept } = group;
  if (!kept || group.status === 'CANCELLED') {
    kept?.redriven.clear();
    group.outcomes.clear();
    return;
  }
  for (const address of kept.redriven) kept.owed.add(address);
  kept.redriven.clear();
  for (const address of group.outcomes.keys()) if (!kept.owed.has(address)) group.outcomes.delete(address);
}
