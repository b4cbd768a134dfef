/** Where two stores add the same numbers in another order, the last digits may differ. */
const TOLERANCE = 1e-9;

/** Where two answers differ. */
export interface Difference {
  readonly path: string;
  readonly first: unknown;
  readonly second: unknown;
}

/**
 * The first difference between two answers; undefined when there is none. A field that is undefined is the same as one
 * that is absent; whole numbers must be equal, fractions within a billionth of their size.
 */
export function differenceOf(first: unknown, second: unknown, path = 'answer'): Difference | undefined {
  if (isSame(first, second)) return undefined;
  if (Array.isArray(first) && Array.isArray(second)) {
    for (let at = 0; at < Math.max(first.length, second.length); at++) {
      const difference = differenceOf(first[at], second[at], `${path}[${at}]`);
      if (difference) return difference;
    }
    return undefined;
  }
  if (isObject(first) && isObject(second)) {
    for (const name of new Set([...Object.keys(first), ...Object.keys(second)])) {
      const difference = differenceOf(first[name], second[name], `${path}.${name}`);
      if (difference) return difference;
    }
    return undefined;
  }
  return { path, first, second };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isSame(first: unknown, second: unknown): boolean {
  if (first === second) return true;
  if (typeof first !== 'number' || typeof second !== 'number') return false;
  if (Number.isInteger(first) && Number.isInteger(second)) return false;
  return Math.abs(first - second) <= TOLERANCE * Math.max(Math.abs(first), Math.abs(second));
}
