import { InvalidArgumentError } from 'commander';

/**
 * Reads a whole number, not negative.
 * @param text - as it was given.
 * @throws InvalidArgumentError for anything else.
 */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

/**
 * Reads a positive number.
 * @param text - as it was given.
 * @throws InvalidArgumentError for anything else.
 */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/**
 * Reads a value written as JSON.
 * @param text - as it was given.
 * @throws InvalidArgumentError where it is none.
 */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${(error as Error).message}.`);
  }
}
