import { silentLogger } from '@millrace/foundation';
import type { Job, JobContext, JobProcessor } from '../../src/processor.js';

/** One try of a job, as the pool would make it. */
export interface Try {
  /** The same for every try of a job. */
  readonly key?: string;
  readonly signal?: AbortSignal;
}

/** Runs one try of a job with this payload, whatever its shape. */
export async function tryJob<D>(
  processor: JobProcessor<never, D>,
  payload: unknown,
  { key = 'acme/news:job-1', signal = new AbortController().signal }: Try = {},
): Promise<D> {
  const job: Job = {
    id: 'job-1',
    groupId: 'acme/news',
    tenant: 'acme',
    tenantId: 'acme',
    processorType: processor.type,
    payload,
    cost: 1,
    retryCount: 0,
    createdAt: new Date(0),
    traceparent: '',
  };
  const context: JobContext = {
    signal,
    attempt: 1,
    idempotencyKey: key,
    log: silentLogger,
    heartbeat: async () => true,
  };
  return (await processor.process?.(job as Job<never>, context)) as D;
}

/** What a try failed with; fails itself, and says with what, when the try did not. */
export async function failureOf(attempt: Promise<unknown>, tried: unknown = ''): Promise<Failure> {
  try {
    await attempt;
  } catch (error) {
    return error as Failure;
  }
  throw new Error(`the try succeeded: ${JSON.stringify(tried)}`);
}

/** The part of an error that decides what becomes of a job. */
export interface Failure extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}
