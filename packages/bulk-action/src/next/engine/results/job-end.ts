import { cutText, signatureOf } from '../../../rules/signature.js';
import {
  type DetailFacts,
  type DropReason,
  encodeValue,
  type LetterFacts,
  type ResultFacts,
} from '../format/side-values.js';
import type { JobOutcome } from '../state/change.js';
import type { JobBody } from '../state/chunks.js';
import type { EndKept } from '../state/kept.js';
import { addressOf, idOf, type Position } from '../state/position.js';
import type { Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { emit, noteProgress } from './events.js';
import { keepRecent } from './recent.js';
import type { AttemptError, JobReport } from './report.js';

const NUMBERS_MAX = 32;
const NUMBER_NAME = /^[A-Za-z0-9._:-]{1,64}$/;
/** Far enough from where a sum is no number any more. */
const NUMBER_MAX = 1e300;
const DETAIL_CHARACTERS_MAX = 500;
const LETTER_CHARACTERS_MAX = 2_000;

/**
 * Writes down what a job leaves that is about to end, before its end can end the round. Returns what changes in the record of its
 * group: nothing for most jobs.
 */
export function keepJobEnd(
  state: EngineState,
  job: Job,
  outcome: JobOutcome,
  report: JobReport,
): EndKept | undefined {
  const { group } = job;
  noteProgress(state, group);
  const stored =
    report.result || report.aggregator !== undefined ? keepResult(state, job, outcome, report) : undefined;
  keepRecent(state, job, outcome, report, stored?.dropped);
  const isDetailed = outcome === 'FAILED' && keepDetail(state, job, report);
  const isLetter = report.isDead === true && keepLetter(state, job, report, isDetailed);
  const numbers = report.result?.numbers && countableNumbers(report.result.numbers);
  const { aggregator } = report;
  if (!isDetailed && !isLetter && !numbers && aggregator === undefined && !stored?.isKept) return undefined;
  return {
    resultBytes: stored?.isKept ? stored.bytes : undefined,
    isDropped: stored?.isKept === true && stored.dropped !== undefined,
    numbers,
    aggregator,
    isDetailed,
    isLetter,
  };
}

interface StoredResult {
  readonly isKept: boolean;
  readonly bytes: number;
  readonly dropped: DropReason | undefined;
}

/** Results are stored in the order of settlement, if the options say so or an aggregator reads them. */
function keepResult(
  state: EngineState,
  job: Job,
  outcome: JobOutcome,
  { result, aggregator }: JobReport,
): StoredResult {
  const { group, position, body } = job;
  const { limits, keepResults } = state.config;
  const data = result?.data;
  const isKept = outcome === 'COMPLETED' && (aggregator !== undefined || (keepResults && data !== undefined));
  const bytes = data === undefined ? 0 : Buffer.byteLength(data);
  const isTooLarge = bytes > limits.resultBytesMax;
  if (!isKept) return { isKept, bytes: 0, dropped: isTooLarge ? 'RESULT_TOO_LARGE' : undefined };
  const isFull = (group.kept?.resultBytes ?? 0) + bytes > limits.groupResultBytesMax;
  const dropped = isTooLarge ? 'RESULT_TOO_LARGE' : isFull ? 'GROUP_RESULTS_FULL' : undefined;
  const facts: ResultFacts = { jobId: jobIdOf(position, body), position, type: body?.type, dropped };
  state.writes.add({
    kind: 'result',
    groupId: group.id,
    number: group.kept?.results ?? 0,
    round: group.round,
    bytes: encodeValue({ facts, data: dropped ? undefined : data }),
  });
  return { isKept, bytes: dropped ? 0 : bytes, dropped };
}

/** The first failed jobs of a round are listed in its result. A later round of a sealable group lists them as well. */
function keepDetail({ writes, config }: EngineState, job: Job, { error }: JobReport): boolean {
  const { group, position, body } = job;
  if ((group.kept?.details ?? 0) >= config.aggregator.failedDetailsMaxCount) return false;
  const { code = '', message = '' } = error ?? {};
  const facts: DetailFacts = {
    jobId: jobIdOf(position, body),
    code,
    message: cutText(message, DETAIL_CHARACTERS_MAX),
  };
  const { id: groupId, round: from, isSealable } = group;
  const to = isSealable ? undefined : from;
  writes.add({ kind: 'detail', groupId, position, from, to, bytes: encodeValue({ facts }) });
  return true;
}

/** Keeps a job with its body, so that it can be queued again. The body of a job that ends here is loaded. */
function keepLetter(state: EngineState, job: Job, { error }: JobReport, isDetailed: boolean): boolean {
  const { group, position, attempt, retryCount, orphanCount, body } = job;
  if (!body) return false;
  const counts = { attempts: attempt, retryCount, orphanCount, countedAs: 'failed', isDetailed } as const;
  writeLetter(state, group, position, body, error ?? { code: '' }, counts);
  emit(state, 'job.dead', group, idOf(body.id, position));
  return true;
}

/** Writes a dead letter, and asks for the oldest to go if there are too many. */
export function writeLetter(
  state: EngineState,
  group: Group,
  position: Position,
  body: JobBody,
  error: AttemptError,
  counts: Pick<LetterFacts, 'attempts' | 'retryCount' | 'orphanCount' | 'countedAs' | 'isDetailed'>,
): void {
  const { code, message = '', errorClass } = error;
  const { id, type, cost, charge, deadlineMs, traceparent, payload } = body;
  const signature = signatureOf(type, code, message);
  const failedMs = state.nowMs;
  const createdMs = group.chunks.get(addressOf(position))?.createdMs ?? group.createdMs;
  const origin = { jobId: idOf(id, position), type, cost, charge, deadlineMs, traceparent, createdMs };
  const kept = cutText(message, LETTER_CHARACTERS_MAX);
  const failure = { failedMs, code, message: kept, errorClass, signature, round: group.round };
  const facts: LetterFacts = Object.assign(origin, failure, counts);
  state.writes.add({
    kind: 'letter',
    groupId: group.id,
    position,
    tenantId: group.tenant.id,
    signature,
    failedMs,
    bytes: encodeValue({ facts, payload }),
  });
  const { deadLettersMax: keep } = state.config;
  const excess = state.shard.letters + 1 - keep;
  if (excess > 0) state.writes.add({ kind: 'letters-max', keep, excess });
}

/** Returns those that can be summed up, or undefined if there are none. */
function countableNumbers(numbers: Readonly<Record<string, number>>): Record<string, number> | undefined {
  const counted = Object.entries(numbers)
    .filter(([name, value]) => NUMBER_NAME.test(name) && Math.abs(value) <= NUMBER_MAX)
    .slice(0, NUMBERS_MAX);
  return counted.length > 0 ? Object.fromEntries(counted) : undefined;
}

const jobIdOf = (position: Position, body: JobBody | undefined): string | undefined =>
  body && idOf(body.id, position);

/** Reports whether the side writes of a job's end fit into the next commit. */
export function fitsEnd({ writes }: EngineState, text = ''): boolean {
  return writes.fits(BYTES_OF_END + BYTES_PER_CHARACTER * text.length);
}

/** Most that the end of a job writes besides its payload and its data: its attempt, its letter, the line of its chunk. */
const BYTES_OF_END = 32_768;
const BYTES_PER_CHARACTER = 3;
