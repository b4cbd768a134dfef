import {
  type Clock,
  integerOption,
  type OptionRule,
  type Rng,
  resolveOptions,
  toWorkError,
} from '@millrace/foundation';
import { traceparentOption } from './group-definition.js';
import type { JobInput, Moment } from './model.js';
import type { ResolvedBulkActionConfig } from './options.js';
import { ADD_BATCH_MAX, type NewJob } from './ports.js';
import { optionInvalid, optionUnknown } from './refusals.js';
import { checkId, checkRequestId, derivedJobId, generatedJobId, idInvalid } from './rules/ids.js';
import { momentMs, momentOption } from './rules/moments.js';
import { encodePayload } from './rules/payload.js';

/** How the jobs of a call that were given no id get one. */
export interface AddJobsOptions {
  /** Names the call: made again with the same name, it registers nothing twice. */
  readonly requestId?: string | undefined;
  /** The position of the first job (0), for a list that is handed over in several calls with one `requestId`. */
  readonly firstPosition?: number | undefined;
}

/** What preparing jobs takes from outside. */
export interface JobPreparation {
  readonly config: Pick<ResolvedBulkActionConfig, 'limits' | 'fairQueue'>;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** The jobs of one call, checked, each id once. */
export interface PreparedJobs {
  readonly jobs: readonly NewJob[];
  /** How many came with an id that an earlier one of the call has. */
  readonly duplicates: number;
}

/** Payload text of one step: keeps a store that does one thing at a time from standing still for one caller. */
const BATCH_CHARACTERS_MAX = 1_048_576;
const CHARGE_MAX = 1_000_000;

const JOB_KEYS: readonly (keyof JobInput)[] = [
  'id',
  'processorType',
  'payload',
  'cost',
  'notBefore',
  'deadline',
  'traceparent',
];
const KNOWN_KEYS: ReadonlySet<string> = new Set(JOB_KEYS);
const PROCESSOR_TYPE = /^\P{C}{1,128}$/u;

const OPTION_RULES = {
  requestId: { expected: 'an id', accepts: () => true },
  firstPosition: integerOption({ min: 0 }),
};

/**
 * Checks all jobs of a call and gives each its id; nothing is stored before the last one is known to be right.
 * @param owner - the method, for messages.
 * @param inputs - what the caller gave.
 * @param options - see AddJobsOptions.
 * @param preparation - limits, charge, clock and randomness.
 * @throws MillraceError `ID_INVALID`, `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function prepareJobs(
  owner: string,
  inputs: Iterable<JobInput>,
  options: AddJobsOptions,
  preparation: JobPreparation,
): PreparedJobs {
  if (typeof inputs !== 'object' || typeof inputs?.[Symbol.iterator] !== 'function')
    throw optionInvalid(owner, 'jobs', 'a list of jobs', inputs);
  const spec = { owner, defaults: { firstPosition: 0 }, rules: OPTION_RULES };
  const { requestId, firstPosition } = resolveOptions<{ requestId?: unknown; firstPosition: number }>(
    spec as never,
    options as never,
  );
  const request = requestId === undefined ? undefined : checkRequestId(requestId);
  const byId = new Map<string, NewJob>();
  let position = 0;
  for (const input of inputs) {
    const path = `jobs[${position}]`;
    checkShape(owner, path, input);
    const id = idOf(input, request, firstPosition + position, byId, preparation);
    position += 1;
    const job = newJob(owner, path, id, input, preparation);
    if (!byId.has(id)) byId.set(id, job);
  }
  return { jobs: [...byId.values()], duplicates: position - byId.size };
}

/**
 * Cuts a list into steps that a store takes: so many jobs, so much payload. An empty list is one empty step.
 * @param jobs - checked.
 */
export function* batchesOf(jobs: readonly NewJob[]): Generator<readonly NewJob[]> {
  let from = 0;
  let characters = 0;
  for (let at = 0; at < jobs.length; at++) {
    const { length } = (jobs[at] as NewJob).payload;
    const full = at - from === ADD_BATCH_MAX || characters + length > BATCH_CHARACTERS_MAX;
    if (full && at > from) {
      yield jobs.slice(from, at);
      from = at;
      characters = 0;
    }
    characters += length;
  }
  yield jobs.slice(from);
}

function checkShape(owner: string, path: string, input: unknown): void {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw optionInvalid(owner, path, 'an object', input);
  for (const key of Object.keys(input))
    if (!KNOWN_KEYS.has(key)) throw optionUnknown(owner, `${path}.`, key, JOB_KEYS);
}

function idOf(
  { id }: JobInput,
  requestId: string | undefined,
  position: number,
  taken: ReadonlyMap<string, unknown>,
  { clock, rng }: JobPreparation,
): string {
  if (id !== undefined) return checkId('jobId', id);
  if (requestId !== undefined) return derivedJobId(requestId, position);
  let generated: string;
  do generated = generatedJobId(clock.now(), rng.next());
  while (taken.has(generated));
  return generated;
}

function newJob(
  owner: string,
  path: string,
  id: string,
  input: JobInput,
  { config }: JobPreparation,
): NewJob {
  const { processorType, cost = 1, notBefore, deadline, traceparent } = input;
  const { payloadBytesMax, costMax } = config.limits;
  if (typeof processorType !== 'string' || !PROCESSOR_TYPE.test(processorType))
    throw idInvalid(`The processorType of ${path}`, '1 to 128 printable characters', processorType);
  if (!(Number.isInteger(cost) && cost >= 1 && cost <= costMax))
    throw optionInvalid(owner, `${path}.cost`, `an integer from 1 to ${costMax}`, cost);
  const job: NewJob = { id, processorType, payload: encodePayload(id, input.payload, payloadBytesMax), cost };
  const charge = chargeOf(input, cost, config.fairQueue.charge);
  if (charge === undefined && notBefore === undefined && deadline === undefined && traceparent === undefined)
    return job;
  const moment = (option: 'notBefore' | 'deadline', value: Moment) =>
    accepted(owner, `${path}.${option}`, momentOption, value);
  return {
    ...job,
    ...(charge !== undefined && { charge }),
    ...(notBefore !== undefined && { notBefore: momentMs(moment('notBefore', notBefore), Math.ceil) }),
    ...(deadline !== undefined && { deadline: momentMs(moment('deadline', deadline)) }),
    ...(traceparent !== undefined && {
      traceparent: accepted(owner, `${path}.traceparent`, traceparentOption, traceparent),
    }),
  };
}

function accepted<T>(owner: string, option: string, rule: OptionRule, value: T): T {
  if (!rule.accepts(value)) throw optionInvalid(owner, option, rule.expected, value);
  return value;
}

function chargeOf(
  { processorType, payload }: JobInput,
  cost: number,
  charge: ResolvedBulkActionConfig['fairQueue']['charge'],
): number | undefined {
  if (typeof charge !== 'function') return undefined;
  const refuse = (given: unknown) =>
    optionInvalid('fairQueue.charge', 'what it returns', `a number > 0 and ≤ ${CHARGE_MAX}`, given);
  let value: unknown;
  try {
    value = charge({ processorType, payload, cost });
  } catch (error) {
    throw refuse(`a throw: ${toWorkError(error).message}`);
  }
  if (!(Number.isFinite(value) && (value as number) > 0 && (value as number) <= CHARGE_MAX))
    throw refuse(value);
  return value as number;
}
