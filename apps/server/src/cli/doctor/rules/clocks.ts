import { duration } from '../../show/amounts.js';
import { type Finding, finding } from '../finding.js';

/** Clocks that are kept by NTP differ by milliseconds; more than this means that one of them is not. */
export const CLOCK_DIFFERENCE_MAX_MS = 1_000;

/** One look at the clock of another. */
export interface ClockLook {
  /** Whose. */
  readonly of: string;
  /** When it was asked and when the answer was there, by the clock of this machine. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** What it said. */
  readonly told: number;
  /** What is said is so coarse: the true time is up to so much later. */
  readonly coarseMs: number;
}

/** Between which two values the difference of a clock to this machine's is; above 0: it is ahead. */
export interface ClockOffset {
  readonly of: string;
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * How far a clock is from this machine's. However long the answer took, the other clock was read between the question and the answer.
 */
export const clockOffset = ({ of, askedAt, answeredAt, told, coarseMs }: ClockLook): ClockOffset => ({
  of,
  leastMs: told - answeredAt,
  mostMs: told + coarseMs - askedAt,
});

/** The clock that the others are compared with. */
const HERE: ClockOffset = { of: 'this machine', leastMs: 0, mostMs: 0 };

/**
 * Judges the clocks of several machines, each against each.
 * @param check - what the finding is called.
 * @param offsets - of all clocks but this machine's.
 * @returns undefined when there is no other clock.
 */
export function judgeClocks(check: string, offsets: readonly ClockOffset[]): Finding | undefined {
  if (offsets.length === 0) return undefined;
  const pairs = [HERE, ...offsets].flatMap((one, index, all) =>
    all.slice(index + 1).map((other) => ({ one, other, byMs: differenceOf(one, other) })),
  );
  const apart = pairs.filter(({ byMs }) => Math.abs(byMs) > CLOCK_DIFFERENCE_MAX_MS);
  const names = offsets.map(({ of }) => of).join(' and ');
  if (apart.length === 0) return finding('ok', check, `The clocks of this machine and ${names} agree`);
  return finding('warning', check, 'Clocks differ', {
    seen: `${apart.map(({ one, other, byMs }) => said(one, other, byMs)).join('; ')}. Up to ${duration(CLOCK_DIFFERENCE_MAX_MS)} is well.`,
    action:
      'Let NTP keep the clock of each machine (`timedatectl status`, `chronyc tracking`): times that callers give (notBefore, deadline) and times in logs mean different moments until then.',
  });
}

/** By how much the second is ahead of the first at the least: 0 when they may agree. */
function differenceOf(one: ClockOffset, other: ClockOffset): number {
  const leastMs = other.leastMs - one.mostMs;
  const mostMs = other.mostMs - one.leastMs;
  return leastMs > 0 ? leastMs : Math.min(mostMs, 0);
}

const said = (one: ClockOffset, other: ClockOffset, byMs: number): string =>
  `the clock of ${other.of} is ${duration(Math.abs(byMs))} or more ${byMs > 0 ? 'ahead of' : 'behind'} that of ${one.of}`;
