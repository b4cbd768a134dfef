const TIME_UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** Formats a number with thousands separators: `12,471`. Returns a dash for null and undefined. */
export const amount = (value: number | null | undefined): string =>
  value === null || value === undefined
    ? '-'
    : value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 1 });

/** Formats a duration in its two largest units: `1 h 5 min`, `8.4 s`, `120 ms`. Returns a dash for null and undefined. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000) * 1000;
  const first = TIME_UNITS.findIndex(([unitMs]) => seconds >= unitMs);
  return TIME_UNITS.slice(first, first + 2)
    .map(([unitMs, name], index) => {
      const within = index === 0 ? seconds : seconds % (TIME_UNITS[first]?.[0] ?? 1);
      return [Math.floor(within / unitMs), name] as const;
    })
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(' ');
}

/**
 * Formats a share in percent: `12.5 %`.
 * @param share - from 0 to 1.
 */
export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/**
 * Formats a time to the second, in UTC. Returns a dash for null and undefined.
 * @param time - ISO 8601.
 */
export const moment = (time: string | null | undefined): string =>
  time ? `${time.slice(0, 19).replace('T', ' ')} UTC` : '-';

/**
 * Formats a count with its noun: `1 job`, `1,200 jobs`.
 * @param many - the plural (the singular and an s).
 */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Formats a number of bytes in its largest unit: `1.5 GB`. */
export function bytes(count: number): string {
  const unit = Math.min(
    BYTE_UNITS.length - 1,
    Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(count))) / 10)),
  );
  const value = count / 1024 ** unit;
  return `${value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 10 && unit > 0 ? 1 : 0 })} ${BYTE_UNITS[unit]}`;
}
