import type { OptionRule } from '@millrace/foundation';
import type { Moment } from '../model.js';

/** The last millisecond that a Date can hold. */
const LAST_MS = 8_640_000_000_000_000;

const msOf = (value: unknown): unknown =>
  value instanceof Date ? Date.prototype.getTime.call(value) : value;

/** Accepts a point in time that is one: an invalid Date or a number beyond what a Date can hold is none. */
export const momentOption: OptionRule = Object.freeze({
  expected: 'a valid Date, or milliseconds since 1970',
  accepts(value: unknown) {
    const ms = msOf(value);
    return Number.isFinite(ms) && (ms as number) >= 0 && (ms as number) <= LAST_MS;
  },
});

/**
 * A point in time in whole milliseconds since 1970.
 * @param moment - checked by `momentOption`.
 * @param round - where a fraction goes: down unless given, so that a deadline is never later than it was meant.
 */
export const momentMs = (moment: Moment, round: (ms: number) => number = Math.floor): number =>
  round(msOf(moment) as number);
