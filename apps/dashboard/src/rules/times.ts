import { NOTHING } from './amounts.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long something takes, in the two largest units that matter: `340 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min`, `4 d`.
 * @param ms - milliseconds; null where nobody knows.
 */
export function durationText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms < 1) return ms <= 0 ? '0 ms' : '<1 ms';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 59.95 * SECOND) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 1 : 0)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

/**
 * The same where there is little room: one unit, with a decimal where it matters: `5.7 min`.
 * @param ms - milliseconds; null where nobody knows.
 */
export function shortDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NOTHING;
  if (ms < MINUTE) return durationText(ms);
  const [unit, name] =
    ms < HOUR ? ([MINUTE, 'min'] as const) : ms < DAY ? ([HOUR, 'h'] as const) : ([DAY, 'd'] as const);
  const value = ms / unit;
  return `${value.toFixed(value < 10 && ms % unit !== 0 ? 1 : 0)} ${name}`;
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rounded = Math.round(ms / small) * small;
  const larger = Math.floor(rounded / large);
  const smaller = Math.round((rounded % large) / small);
  return smaller === 0 ? `${larger} ${largeName}` : `${larger} ${largeName} ${smaller} ${smallName}`;
}

/**
 * How long ago something was, or how soon it will be: `just now`, `3 min ago`, `in 20 s`.
 * @param at - when, in ISO 8601; null where it was never.
 * @param now - milliseconds since 1970.
 */
export function agoText(at: string | null | undefined, now: number): string {
  if (!at) return NOTHING;
  const ms = now - Date.parse(at);
  if (Number.isNaN(ms)) return NOTHING;
  if (Math.abs(ms) < 2 * SECOND) return 'just now';
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`;
}

/**
 * How soon something will be: `any moment now`, `in 20 s`.
 * @param ms - until then; null where nobody knows.
 */
export const untilText = (ms: number | null): string =>
  ms === null ? NOTHING : ms < SECOND ? 'any moment now' : `in ${coarse(ms)}`;

/** One unit is enough for a distance. */
function coarse(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * A time of today: `14:03:20`.
 * @param at - ISO 8601, or milliseconds since 1970.
 */
export const clockText = (at: string | number): string => clock.format(new Date(at));

/**
 * A time with its day, in the zone of whoever looks.
 * @param at - ISO 8601; null where it was never.
 */
export function momentText(at: string | null | undefined): string {
  const ms = at ? Date.parse(at) : Number.NaN;
  return Number.isNaN(ms) ? NOTHING : full.format(ms);
}

/**
 * How much time lies between two moments.
 * @param from - ISO 8601; null: it has not begun.
 * @param to - ISO 8601; null: it goes on.
 * @param now - milliseconds since 1970.
 */
export const between = (from: string | null, to: string | null, now: number): number | null =>
  from === null ? null : Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from));
