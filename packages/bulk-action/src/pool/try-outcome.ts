import type { RetryPolicy } from '@millrace/foundation';
import type { LeasedJob, Outcome } from '../lease.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { decideOutcome } from '../rules/retry.js';
import type { Verdict } from './read-answer.js';
import { asksForAggregation, type KeepingRules, successOutcome } from './success-outcome.js';

/** What decides what a try comes to. */
export interface OutcomeRules extends KeepingRules {
  readonly config: ResolvedBulkActionConfig;
}

/**
 * What a try is settled with.
 * @param job - the job.
 * @param verdict - how the try went.
 * @param policy - the processor's own retry policy, if it has one.
 * @param rules - see OutcomeRules.
 * @param random - a number of [0, 1), asked for only by a failure: the jitter of the back-off.
 * @param tell - told what is not kept of a result, and why; one function for all jobs.
 */
export function outcomeOf(
  job: LeasedJob,
  verdict: Verdict,
  policy: RetryPolicy | undefined,
  rules: OutcomeRules,
  random: () => number,
  tell: (job: LeasedJob, message: string) => void,
): Outcome {
  if (verdict.success) return successOutcome(job, verdict.data, rules, tell);
  const { processorType, retryCount } = job;
  const { config } = rules;
  const { error } = verdict;
  const outcome = decideOutcome({ error, processorType, retryCount, policy, config, random: random() });
  const asks = outcome.kind === 'failure' && asksForAggregation(processorType, rules);
  return asks ? { ...outcome, aggregate: true } : outcome;
}
