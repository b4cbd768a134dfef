import type { GroupResult } from '../../src/model.js';
import { COMMON_TYPE } from './processors.js';
import type { TruthGroup, Violations } from './truth.js';
import type { WitnessParts } from './witness-parts.js';

/** Answers that some seed must have met. */
export const AGGREGATION_OUTCOMES = [
  'aggregation done',
  'aggregation again',
  'aggregation failed',
  'aggregation lost',
  'slow reduce',
] as const;

/** What the aggregator of the simulation makes of a group. */
export interface Added {
  readonly ids: readonly string[];
}

/** I2 and I4 of aggregations: of all that try, one ends a round, and its result has every accepted success once. */
export class AggregationCheck {
  readonly #parts: WitnessParts;
  /** The token that has ended a round, by group and round. */
  readonly #done = new Map<string, string>();

  constructor(parts: WitnessParts) {
    this.#parts = parts;
  }

  finished([key, round, token]: readonly unknown[], answer: unknown): void {
    const { violations, tally } = this.#parts;
    tally.count(`aggregation ${answer}`);
    if (answer !== 'done') return;
    const name = `round ${round} of ${key}`;
    const first = this.#done.get(name) ?? token;
    violations.check(first === token, 'I4', () => `${name} was ended by ${first} and by ${token}`);
    this.#done.set(name, token as string);
  }

  failed([key]: readonly unknown[], answer: unknown): void {
    const { truth, tally } = this.#parts;
    tally.count(`aggregation ${answer}`);
    const group = truth.groups.get(key as string);
    if (group && answer === 'failed') group.notAddedUp = true;
  }

  /** Every accepted success of the type that has an aggregator, once. */
  static ofResult(group: TruthGroup, result: GroupResult | undefined, violations: Violations): void {
    if (result?.status !== 'COMPLETED') return;
    const expected = [...group.jobs.values()]
      .filter(({ end, given }) => end === 'success' && given.processorType === COMMON_TYPE)
      .map(({ id }) => id)
      .sort();
    const got = (result.data as Added | undefined)?.ids ?? [];
    violations.check(
      JSON.stringify(got) === JSON.stringify(expected),
      'I14',
      () => `${group.key} adds up ${got.join()}, accepted were ${expected.join()}`,
    );
  }
}
