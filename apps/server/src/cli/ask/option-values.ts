import { InvalidArgumentError } from 'commander';

/**
 * Reads a whole number, not negative.
 * @throws InvalidArgumentError for anything else.
 */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

/**
 * Reads how many of something are wanted, at least one.
 * @throws InvalidArgumentError for anything else.
 */
export function countFromOne(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0 || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

/**
 * Reads a positive number.
 * @throws InvalidArgumentError for anything else.
 */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** A value that was given as JSON. In a box: Commander takes null for a value that is missing. */
export interface GivenValue {
  readonly value: unknown;
}

/**
 * Reads a value written as JSON.
 * @throws InvalidArgumentError where it is none.
 */
export function jsonValue(text: string): GivenValue {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${(error as Error).message}.`);
  }
}

/**
 * Reads a point in time.
 * @returns ISO 8601, in UTC.
 * @throws InvalidArgumentError for anything else.
 */
export function pointInTime(text: string): string {
  const time = new Date(text);
  // Without a zone it would mean something else on another machine.
  if (!/(Z|[+-]\d\d:?\d\d)$/i.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a time such as 2030-01-31T12:00:00Z.');
  return time.toISOString();
}

/** Lets an option also be `none`. It stays a text: Commander takes null for a value that is missing. */
export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | 'none' =>
    text === 'none' ? text : parse(text);
