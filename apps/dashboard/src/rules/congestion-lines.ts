import type { ResponseOf } from '@millrace/contract/server-client';
import { rateText } from './amounts.js';
import { durationText } from './times.js';
import type { Tone } from './tones.js';

/** A called service. */
export type Resource = ResponseOf<'getCongestion'>['resources'][number];
type Point = Resource['history'][number];

/** From when to when something is drawn, in seconds since 1970. */
export type Span = readonly [from: number, to: number];

/** What a service does to those who call it. */
export interface ResourceMark {
  readonly text: string;
  readonly tone: Tone;
}

/** What a service does to those who call it now. */
export function resourceMark(
  { limit, throttles }: Pick<Resource, 'limit' | 'throttles'>,
  frozenForMs: number,
): ResourceMark {
  if (frozenForMs > 0) return { text: `Not called for ${durationText(frozenForMs)}`, tone: 'hold' };
  if (limit !== null) return { text: `Held to ${rateText(limit)}/s`, tone: 'hold' };
  return throttles > 0 ? { text: 'No limit now', tone: 'ok' } : { text: 'Has refused nothing', tone: 'ok' };
}

/** Whether a service keeps those who call it from calling as fast as they could. */
export const holdsBack = ({ limit, frozenForMs }: Pick<Resource, 'limit' | 'frozenForMs'>): boolean =>
  limit !== null || frozenForMs > 0;

/** `service-2` before `service-10`, wherever the page is looked at. */
const byName = new Intl.Collator('en', { numeric: true });

/**
 * Those that hold somebody back first, then those that have refused something; by name among their like, so that nothing
 * moves while it is looked at.
 */
export function byHolding(resources: readonly Resource[]): readonly Resource[] {
  const rank = (one: Resource) => (holdsBack(one) ? 0 : one.throttles > 0 ? 1 : 2);
  return [...resources].sort((a, b) => rank(a) - rank(b) || byName.compare(a.resource, b.resource));
}

/** Bars over one chart, whatever its span. */
export const BARS = 90;

/**
 * What is drawn now. It ends where a bar ends: so bars keep their counts, and the picture stands still in between.
 * @param nowSeconds - since 1970.
 */
export function spanAt(nowSeconds: number, minutes: number): Span {
  const width = (minutes * 60) / BARS;
  const to = Math.ceil(nowSeconds / width) * width;
  return [to - minutes * 60, to];
}

/** How a service was called, as lines of a chart. */
export interface ResourceLines {
  readonly times: readonly number[];
  readonly rate: readonly (number | null)[];
  readonly limit: readonly (number | null)[];
  readonly concurrency: readonly (number | null)[];
}

/** What lines are drawn by, in seconds. */
export interface LinesOptions {
  /** What is before only says how it began. */
  readonly from: number;
  /** When the service was asked about. */
  readonly now: number;
  /** The least time between two points; undefined: nobody knows. */
  readonly every: number | undefined;
}

/** A rate is that of the last second: so long after the last call it is 0. */
const RATE_SECONDS = 1;
/** The shortest time that a chart tells apart. */
const MOMENT = 0.001;

/**
 * How a service was called. Points are written down while it is called only: a time without any was a time without
 * calls, and is drawn so. The last is what it says of itself now.
 */
export function resourceLines(resource: Resource, { from, now, every }: LinesOptions): ResourceLines {
  const { rate, limit, concurrency, history } = resource;
  const rest = every === undefined ? undefined : every + RATE_SECONDS;
  const drawn: Placed[] = [];
  for (const next of [...placed(history, now), { rate, limit, concurrency, seconds: now }]) {
    const last = drawn.at(-1);
    if (last && rest !== undefined && next.seconds - last.seconds > rest + MOMENT)
      drawn.push(
        { ...last, rate: 0, seconds: last.seconds + rest },
        { ...last, rate: 0, seconds: next.seconds - MOMENT },
      );
    drawn.push(next);
  }
  const shown = drawn.slice(
    Math.max(
      0,
      drawn.findLastIndex(({ seconds }) => seconds <= from),
    ),
  );
  return {
    times: shown.map(({ seconds }) => seconds),
    rate: shown.map((point) => point.rate),
    limit: shown.map((point) => point.limit),
    concurrency: shown.map((point) => point.concurrency),
  };
}

interface Placed extends Pick<Point, 'rate' | 'limit' | 'concurrency'> {
  readonly seconds: number;
}

/** Ascending, each time once, up to now: a clock that was set back must not draw a line backwards. */
function placed(history: readonly Point[], now: number): readonly Placed[] {
  const all: Placed[] = [];
  for (const point of history) {
    const seconds = Date.parse(point.at) / 1000;
    if (seconds >= now || seconds <= (all.at(-1)?.seconds ?? 0)) continue;
    all.push({ rate: point.rate, limit: point.limit, concurrency: point.concurrency, seconds });
  }
  return all;
}

/** The least time between two points of any service: all are written down by one rule. */
export function pointEverySeconds(resources: readonly Resource[]): number | undefined {
  let least: number | undefined;
  for (const { history } of resources)
    for (let index = 1; index < history.length; index++) {
      const gap = secondsAt(history, index) - secondsAt(history, index - 1);
      if (gap > 0 && (least === undefined || gap < least)) least = gap;
    }
  return least;
}

const secondsAt = (history: readonly Point[], index: number): number =>
  Date.parse(history[index]?.at ?? '') / 1000;

/** Calls that were refused, counted over equal times. */
export interface RefusalBars {
  /** The middle of each. */
  readonly times: readonly number[];
  readonly counts: readonly number[];
  /** The time of one bar. */
  readonly widthMs: number;
}

/**
 * Counts refusals over equal times; bars of one width can be compared.
 * @param history - of a service: each point tells of the refusals since the one before.
 */
export function refusalBars(history: readonly Point[], [from, to]: Span): RefusalBars {
  const width = (to - from) / BARS;
  const counts = Array.from({ length: BARS }, () => 0);
  for (const { at, throttles } of history) {
    const seconds = Date.parse(at) / 1000;
    const bar = Math.floor((seconds - from) / width);
    if (counts[bar] === undefined) continue;
    counts[bar] += throttles;
  }
  return { times: counts.map((_, bar) => from + (bar + 0.5) * width), counts, widthMs: width * 1000 };
}
