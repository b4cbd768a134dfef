import { describe } from './errors.js';

/** Throws a RangeError that names the option, what was expected and what was given. */
export function refuse(name: string, expected: string, given: unknown, options?: ErrorOptions): never {
  throw new RangeError(`${name} must be ${expected}, got ${describe(given)}`, options);
}

/** A duration: any number of milliseconds from 0 up, Infinity included. */
export function checkMs(name: string, ms: unknown, options?: ErrorOptions): void {
  if (!(typeof ms === 'number' && ms >= 0)) refuse(name, 'a number of milliseconds ≥ 0', ms, options);
}

/** A count: a whole number from 0 up. */
export function checkCount(name: string, count: unknown): void {
  if (!(Number.isInteger(count) && (count as number) >= 0)) refuse(name, 'an integer ≥ 0', count);
}

/** A share between 0 and 1. */
export function checkShare(name: string, share: unknown): void {
  if (!(typeof share === 'number' && share >= 0 && share <= 1)) refuse(name, 'a number from 0 to 1', share);
}

/** Something that can be called. */
export function checkFunction(name: string, fn: unknown): void {
  if (typeof fn !== 'function') throw new TypeError(`${name} must be a function, got ${describe(fn)}`);
}

/** An options object: a bare number or a misplaced argument would otherwise be ignored in silence. */
export function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || !options)
    throw new TypeError(`options must be an object, got ${describe(options)}`);
}
