import { toWorkError } from '@millrace/foundation';
import type { Aggregator, AggregatorRegistry } from '../aggregator.js';
import type { Outcome } from '../lease.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { dataAsJson } from './read-answer.js';

/** What decides how much of a result is kept. */
export interface KeepingRules {
  readonly aggregators: AggregatorRegistry;
  readonly config: Pick<ResolvedBulkActionConfig, 'keepResults' | 'limits'>;
}

type Success = Extract<Outcome, { kind: 'success' }>;

/** The same for all that leave nothing: one object less per job. */
const SUCCESS: Success = Object.freeze({ kind: 'success' });

const NUMBERS_MAX = 32;
const NUMBER_NAME = /^[A-Za-z0-9._:-]{1,64}$/;
/** Far enough from where a sum of them is no number any more. */
const NUMBER_MAX = 1e300;

/**
 * Whether the jobs of a type want their group's results added up: they have an aggregator of their own, or there is a
 * default one and results are stored for it.
 * @param type - of the job.
 * @param rules - see KeepingRules.
 */
export const asksForAggregation = (type: string, { aggregators, config }: KeepingRules): boolean =>
  aggregators.hasOwn(type) || (config.keepResults && aggregators.hasDefault);

/**
 * The outcome of a try that succeeded, with what is kept of its data.
 * @param job - the job.
 * @param data - what the processor gave.
 * @param rules - see KeepingRules.
 * @param tell - told what is not kept, and why; one function for all jobs.
 */
export function successOutcome<J extends { readonly processorType: string }>(
  job: J,
  data: unknown,
  rules: KeepingRules,
  tell: (job: J, message: string) => void,
): Outcome {
  const { aggregators, config } = rules;
  const type = job.processorType;
  // Nearly always: nothing is made for such a job.
  if (!config.keepResults && !aggregators.get(type)) return SUCCESS;
  const note = (message: string) => tell(job, message);
  const aggregate = asksForAggregation(type, rules);
  const numbers = numbersOf(aggregators.get(type), data, note);
  const keeps = aggregate || (config.keepResults && data !== undefined);
  if (!keeps && !numbers) return SUCCESS;
  return {
    kind: 'success',
    ...(keeps && data !== undefined && keptData(data, config.limits.resultBytesMax, note)),
    ...(aggregate && { aggregate }),
    ...(numbers && { numbers }),
  };
}

function keptData(
  data: unknown,
  bytesMax: number,
  note: (message: string) => void,
): Pick<Success, 'data' | 'dropped'> {
  const kept = dataAsJson(data, bytesMax);
  if ('json' in kept) return { data: kept.json };
  note(`The result is not kept: ${kept.why}`);
  return { dropped: true };
}

/** The numbers that can be counted; a function that throws has counted none. */
function numbersOf(
  aggregator: Aggregator | undefined,
  data: unknown,
  note: (message: string) => void,
): Success['numbers'] {
  if (!aggregator?.numbers) return undefined;
  try {
    const given = Object.entries(aggregator.numbers(data) ?? {});
    const counted = given.filter(([name, value]) => isCountable(name, value)).slice(0, NUMBERS_MAX);
    if (counted.length < given.length) note(`${given.length - counted.length} numbers are not counted`);
    return counted.length > 0 ? Object.fromEntries(counted) : undefined;
  } catch (error) {
    note(`Numbers are not counted: ${toWorkError(error).message}`);
    return undefined;
  }
}

const isCountable = (name: string, value: unknown): boolean =>
  NUMBER_NAME.test(name) && typeof value === 'number' && Math.abs(value) <= NUMBER_MAX;
