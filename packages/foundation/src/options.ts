import { ERRORS, optionInvalid } from './errors.js';

/** The values that one option accepts, and their description in errors. */
export interface OptionRule {
  readonly expected: string;
  accepts(value: unknown): boolean;
  /** Rules of the keys inside, if the option is a group of options. */
  readonly inside?: Readonly<Record<string, OptionRule>>;
}

/** A rule for every key of a resolved options type. A key without a rule does not compile. */
export type OptionRules<T extends object> = Readonly<Record<keyof T, OptionRule>>;

/** A relation between options, such as `renewEveryMs < leaseMs`. */
export interface OptionConstraint<T extends object> {
  readonly option: keyof T & string;
  readonly expected: string;
  holds(resolved: T): boolean;
}

/** The defaults, rules and relations of one set of options. */
export interface OptionSpec<T extends object> {
  /** The class or function that takes the options. Errors start with it. */
  readonly owner: string;
  /** A key that is missing here has no default and stays undefined. */
  readonly defaults: Partial<T>;
  readonly rules: OptionRules<T>;
  readonly relations?: readonly OptionConstraint<T>[];
}

/** The same options with every key optional, at every depth of option groups. */
export type PartialOptions<T> = {
  readonly [K in keyof T]?:
    | (T[K] extends (...args: never) => unknown
        ? T[K]
        : T[K] extends object
          ? PartialOptions<T[K]> | T[K]
          : T[K])
    | undefined;
};

/** Options with every default in place. Each key has a value, except those in `LeftOut`, which have no default. */
export type CompleteOptions<T, LeftOut extends keyof T = never> = T & {
  readonly [K in Exclude<keyof T, LeftOut>]-?: Exclude<T[K], undefined>;
};

/**
 * Completes options with their defaults and validates them. An undefined value means the default. The result is frozen at
 * every level.
 * @throws MillraceError `OPTION_INVALID` with the expected and the given value, or `OPTION_UNKNOWN` with the nearest key.
 */
export function resolveOptions<T extends object>(
  spec: OptionSpec<T>,
  given?: PartialOptions<T>,
): Readonly<T> {
  const { owner, defaults, rules, relations = [] } = spec;
  const resolved = resolveGroup(owner, '', defaults, rules, given ?? {}) as T;
  for (const { option, expected, holds } of relations) {
    if (!holds(resolved)) throw optionInvalid(owner, option, expected, resolved[option]);
  }
  return resolved;
}

function resolveGroup(
  owner: string,
  path: string,
  defaults: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, OptionRule>>,
  given: unknown,
): Readonly<Record<string, unknown>> {
  if (!isPlainObject(given))
    throw optionInvalid(owner, path.slice(0, -1) || 'the options', 'an object', given);
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(rules, key)) continue;
    const nearest = nearestKey(key, Object.keys(rules));
    const hint = nearest
      ? `; did you mean '${path}${nearest}'?`
      : `; known: ${Object.keys(rules).join(', ')}`;
    throw ERRORS.create('OPTION_UNKNOWN', { owner, option: `${path}${key}`, hint });
  }
  const resolved: Record<string, unknown> = {};
  for (const [key, rule] of Object.entries(rules)) {
    const value = given[key] === undefined ? defaults[key] : given[key];
    if (rule.inside) {
      const inner = isPlainObject(defaults[key]) ? defaults[key] : {};
      resolved[key] = resolveGroup(owner, `${path}${key}.`, inner, rule.inside, value ?? {});
      continue;
    }
    if (value === undefined && !(key in defaults)) continue;
    if (!rule.accepts(value)) throw optionInvalid(owner, `${path}${key}`, rule.expected, value);
    resolved[key] = value;
  }
  return Object.freeze(resolved);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Inclusive bounds. */
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

/** Accepts an integer within inclusive bounds. */
export const integerOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('an integer', range),
  accepts: (value) => Number.isSafeInteger(value) && inRange(value as number, range),
});

/** Accepts a finite number within inclusive bounds. */
export const numberOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('a number', range),
  accepts: (value) => Number.isFinite(value) && inRange(value as number, range),
});

/** Accepts a finite number of milliseconds within inclusive bounds, at least 0. */
export const durationOption = (range: Range = {}): OptionRule => ({
  expected: rangeText('a number of milliseconds', { min: 0, ...range }),
  accepts: (value) => Number.isFinite(value) && inRange(value as number, { min: 0, ...range }),
});

/** Accepts true or false. */
export const booleanOption = (): OptionRule => ({
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
});

/** Accepts a string whose length is within inclusive bounds, at least 1 unless given. */
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

/** Accepts an object of any class that has the named members. */
export const objectOption = (kind: string, ...members: readonly string[]): OptionRule => ({
  expected: members.length > 0 ? `${kind} (with ${members.join(', ')})` : kind,
  accepts: (value) =>
    typeof value === 'object' && value !== null && members.every((member) => member in (value as object)),
});

/** Accepts what any of the rules accepts. */
export const anyOption = (...rules: readonly OptionRule[]): OptionRule => ({
  expected: rules.map((rule) => rule.expected).join(', or '),
  accepts: (value) => rules.some((rule) => rule.accepts(value)),
});

/** Accepts a group of options with rules of its own. */
export const sectionOption = <T extends object>(inside: OptionRules<T>): OptionRule => ({
  expected: 'an object',
  accepts: () => true,
  inside,
});

/** Returns the known key that a mistyped one most likely meant, or undefined if none is near. */
export function nearestKey(given: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters may be wrong: enough for a typo or a missing unit, too little for another word.
  let bestDistance = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const key of known) {
    const contained = key.toLowerCase().startsWith(given.toLowerCase());
    const distance = contained ? 1 : editDistance(given.toLowerCase(), key.toLowerCase());
    if (distance < bestDistance) {
      best = key;
      bestDistance = distance;
    }
  }
  return best;
}

/** Minimum number of inserted, deleted, changed or swapped letters between two words. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const changed = from[row - 1] === to[column - 1] ? 0 : 1;
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + changed);
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
