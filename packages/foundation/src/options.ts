import { printable } from './error-registry.js';
import { ERRORS } from './errors.js';
import { nearestKey } from './rules/nearest-key.js';

/** What one option accepts, and how to say so. */
export interface OptionRule {
  readonly expected: string;
  accepts(value: unknown): boolean;
  /** Rules of the keys inside, when the option is itself a group of options. */
  readonly inside?: Readonly<Record<string, OptionRule>>;
}

/** A rule for every key of a resolved options type: a key without one does not compile. */
export type OptionRules<T extends object> = Readonly<Record<keyof T, OptionRule>>;

/** Something that must hold between options, such as `renewEveryMs < leaseMs`. */
export interface OptionConstraint<T extends object> {
  readonly option: keyof T & string;
  readonly expected: string;
  holds(resolved: T): boolean;
}

/** All that is known of the options of one thing. */
export interface OptionSpec<T extends object> {
  /** Whose options these are; the message starts with it. */
  readonly owner: string;
  /** The defaults; a key that is missing here has none and stays undefined. */
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

/** Options with every default in place: each key has a value, but those that have no default and may be left out. */
export type CompleteOptions<T, LeftOut extends keyof T = never> = T & {
  readonly [K in Exclude<keyof T, LeftOut>]-?: Exclude<T[K], undefined>;
};

/**
 * Completes given options with the defaults and refuses what is wrong.
 * @param spec - defaults, rules and relations.
 * @param given - what the user wrote; undefined means the default.
 * @returns the resolved options, frozen at every level.
 * @throws MillraceError `OPTION_INVALID` (expected and given value) or `OPTION_UNKNOWN` (with the nearest known key).
 */
export function resolveOptions<T extends object>(
  spec: OptionSpec<T>,
  given?: PartialOptions<T>,
): Readonly<T> {
  const { owner, defaults, rules, relations = [] } = spec;
  const resolved = resolveGroup(owner, '', defaults, rules, given ?? {}) as T;
  for (const { option, expected, holds } of relations) {
    if (holds(resolved)) continue;
    throw ERRORS.create('OPTION_INVALID', { owner, option, expected, given: shown(resolved[option]) });
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
  if (!isPlainObject(given)) {
    const option = path.slice(0, -1) || 'the options';
    throw ERRORS.create('OPTION_INVALID', { owner, option, expected: 'an object', given: shown(given) });
  }
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
    // No default and nothing given: the option is simply absent.
    if (value === undefined && !(key in defaults)) continue;
    if (!rule.accepts(value)) {
      const details = { owner, option: `${path}${key}`, expected: rule.expected, given: shown(value) };
      throw ERRORS.create('OPTION_INVALID', details);
    }
    resolved[key] = value;
  }
  return Object.freeze(resolved);
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? `'${printable(value)}'` : printable(value);

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
