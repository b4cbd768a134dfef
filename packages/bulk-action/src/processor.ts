import {
  ERRORS as FOUNDATION_ERRORS,
  printable,
  type RetryPolicy,
  type WorkContext,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { ThreadTaskRef } from './thread-runner.js';

/** A job as its processor sees it. */
export interface Job<P = unknown> {
  readonly id: string;
  /** As every method takes it: plain, or `tenant/id`. */
  readonly groupId: string;
  readonly tenant: string;
  /** The fairness unit. */
  readonly tenantId: string;
  readonly processorType: string;
  readonly payload: P;
  readonly cost: number;
  readonly retryCount: number;
  readonly createdAt: Date;
  readonly deadline?: Date;
  readonly traceparent: string;
}

/** What a processor is given besides its job. */
export interface JobContext extends WorkContext {
  /**
   * Renews the lease now; it is renewed by itself, so only code that blocks the event loop for long needs this.
   * @returns false when the lease is lost: stop then.
   */
  heartbeat(): Promise<boolean>;
}

/** What came of one try, with what the pool fills in. */
export interface JobProcessorResponse<D = unknown> {
  readonly jobId: string;
  readonly groupId: string;
  readonly processorType: string;
  readonly success: boolean;
  readonly data?: D;
  readonly error?: {
    readonly message: string;
    readonly code?: string;
    readonly retryable: boolean;
    readonly retryAfterMs?: number;
  };
  readonly durationMs: number;
}

/** What a processor may return instead of plain data to say how it went. */
export type ProcessorAnswer<D = unknown> =
  | { readonly success: true; readonly data?: D }
  | { readonly success: false; readonly error: NonNullable<JobProcessorResponse['error']> };

/** Runs the jobs of one type. */
export interface JobProcessor<P = unknown, D = unknown> {
  readonly type: string;
  /** The service it calls (its own type): processors that share one share its congestion. */
  readonly resource?: string | undefined;
  /** Longest try (`workerPool.jobTimeoutMs`). */
  readonly timeoutMs?: number | undefined;
  /** When failed tries come again (`workerPool.maxRetryCount`, exponential from `backpressure.defaultBackoffMs`). */
  readonly retry?: RetryPolicy | undefined;
  /** Runs `process` of a module on a thread instead: the job and plain context go there. */
  readonly thread?: ThreadTaskRef | undefined;
  /** Does the work: returns data or a ProcessorAnswer, throws to fail. Not called when `thread` is given. */
  process?(job: Job<P>, context: JobContext): Promise<D | ProcessorAnswer<D>> | D | ProcessorAnswer<D>;
}

/**
 * Declares a processor; gives back what it is given, with its types inferred.
 * @param processor - see JobProcessor.
 * @returns the same processor.
 * @throws MillraceError `OPTION_INVALID` when it has neither `process` nor `thread`, or no type.
 */
export function defineProcessor<P = unknown, D = unknown>(processor: JobProcessor<P, D>): JobProcessor<P, D> {
  checkProcessor(processor as JobProcessor);
  return processor;
}

/** The processors of one process, by type. */
export class ProcessorRegistry {
  readonly #byType = new Map<string, JobProcessor>();

  /**
   * @param processors - registered at once.
   * @throws MillraceError `PROCESSOR_CONFLICT`, `OPTION_INVALID`.
   */
  constructor(processors: readonly JobProcessor<never, unknown>[] = []) {
    for (const processor of processors) this.register(processor);
  }

  /** The types, in the order of registration. */
  get types(): readonly string[] {
    return [...this.#byType.keys()];
  }

  /**
   * Adds a processor.
   * @param processor - see JobProcessor.
   * @throws MillraceError `PROCESSOR_CONFLICT` for a second one of a type, `OPTION_INVALID`.
   */
  register(processor: JobProcessor<never, unknown>): void {
    const any = processor as unknown as JobProcessor;
    checkProcessor(any);
    const known = this.#byType.get(any.type);
    if (known === any) return;
    if (known) throw ERRORS.create('PROCESSOR_CONFLICT', { type: any.type });
    this.#byType.set(any.type, any);
  }

  /**
   * The processor of a type, if there is one here.
   * @param type - the processorType of a job.
   */
  get(type: string): JobProcessor | undefined {
    return this.#byType.get(type);
  }
}

function checkProcessor(processor: JobProcessor): void {
  const refuse = (option: string, expected: string, given: unknown): never => {
    throw FOUNDATION_ERRORS.create('OPTION_INVALID', {
      owner: 'defineProcessor',
      option,
      expected,
      given: printable(given),
    });
  };
  if (typeof processor?.type !== 'string' || processor.type === '') refuse('type', 'a text', processor?.type);
  if (typeof processor.process !== 'function' && !processor.thread)
    refuse('process', 'a function, unless thread is given', processor.process);
  const { timeoutMs } = processor;
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0))
    refuse('timeoutMs', 'a number of milliseconds > 0', timeoutMs);
}
