import {
  anyOption,
  ERRORS as FOUNDATION_ERRORS,
  functionOption,
  integerOption,
  type Logger,
  numberOption,
  type OptionSpec,
  oneOfOption,
  printable,
  type RetryPolicy,
  resolveOptions,
  sectionOption,
  textOption,
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
  /** What jobs name as their `processorType`. */
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
  /** Lets go of connections and the like; called once, when no job runs any more. It has `workerPool.abortGraceMs` for it. */
  close?(): Promise<void> | void;
}

/**
 * Declares a processor; gives back what it is given. `defineProcessor<Mail>(…)` says what its payloads are; nothing checks that they are.
 * @param processor - see JobProcessor.
 * @returns the same processor.
 * @throws MillraceError `OPTION_INVALID` when it has neither `process` nor `thread`, no type, or a wrong value; `OPTION_UNKNOWN` in `retry`.
 */
export function defineProcessor<P = unknown, D = unknown>(
  processor: JobProcessor<P, D>,
  // An engine takes processors of any payloads, as `never`: that must not be inferred for one that says nothing of its own.
): JobProcessor<NoInfer<P>, D> {
  checkProcessor(processor as JobProcessor);
  return processor;
}

/** The processors of one process, by type. */
export class ProcessorRegistry {
  readonly #byType = new Map<string, JobProcessor>();
  /** Who brought them, for the message about a second one. */
  readonly #origins = new Map<string, string>();

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
   * Closes those that have something to close.
   * @param log - is told of one that fails; the others are closed all the same.
   */
  async close(log: Pick<Logger, 'error'>): Promise<void> {
    const closing = [...this.#byType.values()].map(async (processor) => {
      try {
        await processor.close?.();
      } catch (error) {
        log.error({ processorType: processor.type, err: error }, 'A processor could not be closed');
      }
    });
    await Promise.all(closing);
  }

  /**
   * Adds a processor.
   * @param processor - see JobProcessor.
   * @param origin - who brings it, as the message about a second one names it (its class).
   * @throws MillraceError `PROCESSOR_CONFLICT` for a second one of a type, `OPTION_INVALID`.
   */
  register(processor: JobProcessor<never, unknown>, origin = className(processor)): void {
    const any = processor as unknown as JobProcessor;
    checkProcessor(any);
    const known = this.#byType.get(any.type);
    if (known === any) return;
    const { type } = any;
    if (known)
      throw ERRORS.create('PROCESSOR_CONFLICT', { type, first: this.#origins.get(type), second: origin });
    this.#byType.set(type, any);
    this.#origins.set(type, origin);
  }

  /**
   * The processor of a type, if there is one here.
   * @param type - the processorType of a job.
   */
  get(type: string): JobProcessor | undefined {
    return this.#byType.get(type);
  }
}

/**
 * What a person would call an object in a message: its class, or that it has none.
 * @param value - any object.
 */
export function className(value: object): string {
  const name: unknown = value?.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : 'a plain object';
}

const SPEC: OptionSpec<Pick<JobProcessor, 'resource' | 'retry'>> = {
  owner: 'defineProcessor',
  defaults: {},
  rules: {
    resource: textOption(),
    retry: sectionOption<RetryPolicy>({
      retries: integerOption({ min: 0 }),
      backoff: anyOption(oneOfOption('exponential', 'linear'), functionOption()),
      jitter: numberOption({ min: 0, max: 1 }),
    }),
  },
};

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
  const { timeoutMs, resource, retry } = processor;
  resolveOptions<Pick<JobProcessor, 'resource' | 'retry'>>(SPEC, { resource, retry });
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0))
    refuse('timeoutMs', 'a number of milliseconds > 0', timeoutMs);
}
