/** A short text for a value of any kind. Never throws, even if the value's `toString` does. */
export function describe(value: unknown): string {
  try {
    return typeof value === 'string' ? `'${value}'` : String(value);
  } catch {
    return typeof value;
  }
}

/** Throws a RangeError that names the option, the expected value and the given one. */
export function refuse(name: string, expected: string, given: unknown, options?: ErrorOptions): never {
  throw new RangeError(`${name} must be ${expected}, got ${describe(given)}`, options);
}

/** Throws a TypeError with the same text. */
export function refuseType(name: string, expected: string, given: unknown): never {
  throw new TypeError(`${name} must be ${expected}, got ${describe(given)}`);
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
  if (typeof fn !== 'function') refuseType(name, 'a function', fn);
}

/** True or false. */
export function checkBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') refuseType(name, 'a boolean', value);
}

/** A signal: passing the controller is a common slip. */
export function checkSignal(name: string, signal: unknown): void {
  if (typeof (signal as AbortSignal | null)?.addEventListener !== 'function')
    refuseType(name, 'an AbortSignal', signal);
}

/** An options object. Without this check, a bare number or a misplaced argument would be ignored. */
export function checkOptions(options: unknown, name = 'options'): void {
  if (typeof options !== 'object' || !options) refuseType(name, 'an object', options);
}
