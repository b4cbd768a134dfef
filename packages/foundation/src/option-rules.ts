import type { OptionRule, OptionRules } from './options.js';

interface Range {
  readonly min?: number;
  readonly max?: number;
}

const inRange = (value: number, { min = -Infinity, max = Infinity }: Range) => value >= min && value <= max;

function rangeText(kind: string, { min, max }: Range): string {
  if (min !== undefined && max !== undefined) return `${kind} from ${min} to ${max}`;
  if (min !== undefined) return `${kind} ≥ ${min}`;
  return max === undefined ? kind : `${kind} ≤ ${max}`;
}

/**
 * Accepts a whole number.
 * @param range - inclusive bounds.
 */
export const integerOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('an integer', range),
  accepts: (value) => Number.isSafeInteger(value) && inRange(value as number, range),
});

/**
 * Accepts a finite number.
 * @param range - inclusive bounds.
 */
export const numberOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('a number', range),
  accepts: (value) => Number.isFinite(value) && inRange(value as number, range),
});

/**
 * Accepts a duration in milliseconds.
 * @param range - inclusive bounds; `min` is 0 unless given.
 */
export const durationOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('a number of milliseconds', { min: 0, ...range }),
  accepts: (value) => Number.isFinite(value) && inRange(value as number, { min: 0, ...range }),
});

/** Accepts true or false. */
export const booleanOption = (): OptionRule => ({
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
});

/**
 * Accepts a text.
 * @param length - inclusive bounds of its length; at least 1 unless given.
 */
export const textOption = (length: Range = { min: 1 }): OptionRule => ({
  expected: rangeText('a text of length', length),
  accepts: (value) => typeof value === 'string' && inRange(value.length, length),
});

/** Accepts one of the listed values. */
export const oneOfOption = (...values: readonly (string | number | boolean)[]): OptionRule => ({
  expected: `one of ${values.map((value) => (typeof value === 'string' ? `'${value}'` : value)).join(', ')}`,
  accepts: (value) => values.includes(value as string),
});

/** Accepts a function. */
export const functionOption = (): OptionRule => ({
  expected: 'a function',
  accepts: (value) => typeof value === 'function',
});

/**
 * Accepts an object that has the named members, whatever class it is of.
 * @param members - names that must be there.
 */
export const objectOption = (kind: string, ...members: readonly string[]): OptionRule => ({
  expected: members.length > 0 ? `${kind} (with ${members.join(', ')})` : kind,
  accepts: (value) =>
    typeof value === 'object' && value !== null && members.every((member) => member in (value as object)),
});

/**
 * Accepts any of several rules.
 * @param rules - tried in order.
 */
export const anyOption = (...rules: readonly OptionRule[]): OptionRule => ({
  expected: rules.map((rule) => rule.expected).join(', or '),
  accepts: (value) => rules.some((rule) => rule.accepts(value)),
});

/** A group of options with rules of its own. */
export const sectionOption = <T extends object>(inside: OptionRules<T>): OptionRule => ({
  expected: 'an object',
  accepts: () => true,
  inside,
});
