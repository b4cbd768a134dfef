import { ERRORS as FOUNDATION_ERRORS, printable } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import { className } from './processor.js';

/** The result of one job as an aggregator sees it. */
export interface JobResult<D = unknown> {
  readonly jobId: string;
  readonly processorType: string;
  /** What the processor gave, as JSON carries it; undefined when it gave nothing. */
  readonly data: D;
}

/** What a reduce is given besides the results. */
export interface AggregationContext {
  /** As every method takes it: plain, or `tenant/id`. */
  readonly groupId: string;
  readonly totalJobs: number;
  readonly successCount: number;
  readonly failedCount: number;
  /** The first start and the last end of a job, milliseconds since 1970. */
  readonly startedAt: number;
  readonly completedAt: number;
  readonly durationMs: number;
}

/** The type of the aggregator for all processor types that have none of their own. */
export const DEFAULT_AGGREGATOR_TYPE = '__default__';

/**
 * Makes one value of the results of a group, for the jobs of one processor type. It runs when all jobs of the group are
 * done, and may run again, here or in another process: only the run that wins is kept. Every process that runs jobs of
 * the type must have it: what one without it has run is not stored, and not added up.
 */
export interface Aggregator<T = unknown, R = unknown> {
  /**
   * A processor type, or `'__default__'`: for all types without an aggregator of their own. The results of those are stored
   * only with `keepResults`, so without it the default one counts numbers and nothing else.
   */
  readonly type: string;
  /** Makes of one stored result what `reduce` needs of it. */
  map(result: JobResult): T;
  /**
   * Adds up. The results come page by page, in the order of their settlement, so that memory holds a page of them.
   * @returns what JSON can carry; it is `data` of the group's result. To throw is to be tried again, three times.
   */
  reduce(results: AsyncIterable<T>, context: AggregationContext): R | Promise<R>;
  /**
   * Numbers of one result by name, counted at once with the job (count, sum, min, max), without a look at any other result.
   * Names are 1 to 64 characters of `A-Za-z0-9._:-`, values finite; others are not counted.
   */
  numbers?(data: unknown): Readonly<Record<string, number>>;
}

/**
 * Declares an aggregator; gives back what it is given, with its types inferred.
 * @param aggregator - see Aggregator.
 * @returns the same aggregator.
 * @throws MillraceError `OPTION_INVALID` when it has no type, no `map` or no `reduce`.
 */
export function defineAggregator<T = unknown, R = unknown>(aggregator: Aggregator<T, R>): Aggregator<T, R> {
  checkAggregator(aggregator as Aggregator);
  return aggregator;
}

/** The aggregators of one process, by processor type. */
export class AggregatorRegistry {
  readonly #byType = new Map<string, Aggregator>();
  /** Who brought them, for the message about a second one. */
  readonly #origins = new Map<string, string>();

  /**
   * @param aggregators - registered at once.
   * @throws MillraceError `AGGREGATOR_CONFLICT`, `OPTION_INVALID`.
   */
  constructor(aggregators: readonly Aggregator[] = []) {
    for (const aggregator of aggregators) this.register(aggregator);
  }

  /** The types, in the order of registration. */
  get types(): readonly string[] {
    return [...this.#byType.keys()];
  }

  /** Whether it has one for every type. */
  get hasDefault(): boolean {
    return this.#byType.has(DEFAULT_AGGREGATOR_TYPE);
  }

  /**
   * Adds an aggregator.
   * @param aggregator - see Aggregator.
   * @param origin - who brings it, as the message about a second one names it (its class).
   * @throws MillraceError `AGGREGATOR_CONFLICT` for a second one of a type, `OPTION_INVALID`.
   */
  register(aggregator: Aggregator, origin = className(aggregator)): void {
    checkAggregator(aggregator);
    const { type } = aggregator;
    const known = this.#byType.get(type);
    if (known === aggregator) return;
    if (known)
      throw ERRORS.create('AGGREGATOR_CONFLICT', { type, first: this.#origins.get(type), second: origin });
    this.#byType.set(type, aggregator);
    this.#origins.set(type, origin);
  }

  /**
   * The aggregator of a type: its own, else the default one, if there is one here.
   * @param type - the processorType of a job.
   */
  get(type: string): Aggregator | undefined {
    return this.#byType.get(type) ?? this.#byType.get(DEFAULT_AGGREGATOR_TYPE);
  }

  /**
   * Whether a type has an aggregator of its own.
   * @param type - the processorType of a job.
   */
  hasOwn(type: string): boolean {
    return type !== DEFAULT_AGGREGATOR_TYPE && this.#byType.has(type);
  }
}

function checkAggregator(aggregator: Aggregator): void {
  const refuse = (option: string, expected: string, given: unknown): never => {
    throw FOUNDATION_ERRORS.create('OPTION_INVALID', {
      owner: 'defineAggregator',
      option,
      expected,
      given: printable(given),
    });
  };
  if (typeof aggregator?.type !== 'string' || aggregator.type === '')
    refuse('type', "a processor type or '__default__'", aggregator?.type);
  if (typeof aggregator.map !== 'function') refuse('map', 'a function', aggregator.map);
  if (typeof aggregator.reduce !== 'function') refuse('reduce', 'a function', aggregator.reduce);
  if (aggregator.numbers !== undefined && typeof aggregator.numbers !== 'function')
    refuse('numbers', 'a function', aggregator.numbers);
}
