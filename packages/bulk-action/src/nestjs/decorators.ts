import type { JobContext, JobProcessor } from '../processor.js';
import { optionInvalid } from '../refusals.js';
import { checkEngineName } from './options.js';

/** What `@BulkProcessor` is told besides the type. */
export interface BulkProcessorOptions
  extends Pick<JobProcessor<never, unknown>, 'resource' | 'timeoutMs' | 'retry'> {
  /** The `name` of the engine whose jobs it runs, where an application has several. */
  readonly engine?: string | undefined;
}

/** A class whose instances can run jobs. */
export type BulkProcessorClass = abstract new (
  ...args: never[]
) => { process(job: never, context: JobContext): unknown };

/** What `@BulkProcessor` leaves on a class. */
export interface BulkProcessorMark {
  readonly type: string;
  readonly options: BulkProcessorOptions;
}

const MARK = Symbol.for('@millrace/bulk-action processor');
const OWNER = '@BulkProcessor';

/**
 * Makes a provider the processor of a job type: `process(job, context)` is called on the instance that Nest made. It works under
 * standard and under legacy (`experimentalDecorators`) rules.
 * @param type - of the jobs.
 * @param options - see BulkProcessorOptions; what is left out is read from the instance's members of these names.
 * @returns a class decorator.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function BulkProcessor(
  type: string,
  options: BulkProcessorOptions = {},
): (target: BulkProcessorClass, context?: ClassDecoratorContext) => void {
  if (typeof type !== 'string' || type === '') throw optionInvalid(OWNER, 'type', 'a text', type);
  checkEngineName(options.engine, OWNER);
  return (target) => {
    if (typeof target !== 'function') throw optionInvalid(OWNER, 'its place', 'a class', target);
    Object.defineProperty(target, MARK, { value: { type, options } satisfies BulkProcessorMark });
  };
}

/**
 * What the decorator has left on a class, or on one that it extends.
 * @param type - the class; anything else has no mark.
 */
export function markOf(type: unknown): BulkProcessorMark | undefined {
  if (typeof type !== 'function') return undefined;
  const mark = (type as { readonly [MARK]?: BulkProcessorMark })[MARK];
  // A provider that is a mock has a member of every name.
  return typeof mark?.type === 'string' ? mark : undefined;
}

/**
 * What runs jobs with this object: the object itself, or what its decorator says of it.
 * @param instance - a processor.
 */
export function processorOf(instance: object): JobProcessor<never, unknown> {
  const mark = markOf(instance.constructor);
  const own = instance as JobProcessor<never, unknown>;
  if (!mark) return own;
  const { resource = own.resource, timeoutMs = own.timeoutMs, retry = own.retry } = mark.options;
  const { type } = mark;
  return {
    type,
    resource,
    timeoutMs,
    retry,
    process: (job, context) => own.process?.(job, context),
    close: () => own.close?.(),
  };
}
