import { type Command, InvalidArgumentError } from 'commander';
import type { Printer } from '../show/printer.js';

/**
 * Parses a whole number from 0.
 * @throws InvalidArgumentError for anything else.
 */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

/**
 * Parses a whole number from 1.
 * @throws InvalidArgumentError for anything else.
 */
export function countFromOne(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0 || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

/**
 * Parses a number above 0.
 * @throws InvalidArgumentError for anything else.
 */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** A value given as JSON. The object is needed because Commander treats null as a missing value. */
export interface GivenValue {
  readonly value: unknown;
}

/**
 * Parses a JSON value.
 * @throws InvalidArgumentError if it is malformed.
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

/** Wraps a parser to accept `none` too. Returns the text, because Commander treats null as a missing value. */
export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | 'none' =>
    text === 'none' ? text : parse(text);

const PAGE_SIZE = 20;

/** One page of a list. */
export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** Adds `--limit` and `--cursor` to a command. */
export const pageOptions = (command: Command): Command =>
  command
    .option('--limit <count>', 'How many at most.', countFromOne, PAGE_SIZE)
    .option('--cursor <cursor>', 'Where the part before has ended.');

/** Prints how to read the next page, if there is one. */
export function remarkMore(printer: Printer, cursor: string | null): void {
  if (cursor !== null) printer.remark(`There are more: --cursor '${cursor}'`);
}
