const LOCALE = 'en-GB';
const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 });

/** From here on people want the size of a number, not its digits. */
const COMPACT_FROM = 100_000;

/** What stands where there is nothing to say. */
export const NOTHING = '–';

/**
 * A count with its thousands apart: `12,345`.
 * @param value - the count; null where nobody knows.
 */
export const countText = (value: number | null | undefined): string =>
  value === null || value === undefined ? NOTHING : whole.format(value);

/**
 * A count that has little room: `12,345`, then `1.2M`.
 * @param value - the count; null where nobody knows.
 */
export const shortCount = (value: number | null | undefined): string =>
  value !== null && value !== undefined && value >= COMPACT_FROM ? compact.format(value) : countText(value);

/**
 * A rate per second: two digits below 10, none above 100.
 * @param value - the rate; null where nobody knows.
 */
export function rateText(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (value === 0) return '0';
  if (value < 0.01) return '<0.01';
  if (value < 10) return value.toFixed(value < 1 ? 2 : 1);
  return value < 100 ? value.toFixed(1) : shortCount(Math.round(value));
}

/**
 * A part of a whole: `12.5%`, `<0.1%` where it is not nothing.
 * @param value - 0 to 1; null where nobody knows.
 */
export function percentText(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  return value > 0 && value < 0.0005 ? '<0.1%' : percent.format(value);
}

/**
 * `1 job`, `2 jobs`.
 * @param many - the plural where it is not one with an s.
 */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/**
 * An amount of memory: `512 MB`.
 * @param bytes - how many; null where nobody knows.
 */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return NOTHING;
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10));
  const value = bytes / 1024 ** step;
  return `${value.toFixed(step > 0 && Math.abs(value) < 10 ? 1 : 0)} ${BYTE_UNITS[step]}`;
}
