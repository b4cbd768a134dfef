const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/**
 * A number with its thousands apart: `12,471`.
 * @param value - null and undefined are shown as a dash.
 */
export const amount = (value: number | null | undefined): string =>
  value === null || value === undefined
    ? '-'
    : value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 1 });

/**
 * A duration in its two largest units: `1 h 5 min`, `8.4 s`, `120 ms`.
 * @param ms - null and undefined are shown as a dash.
 */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000) * 1000;
  const first = UNITS.findIndex(([unitMs]) => seconds >= unitMs);
  return UNITS.slice(first, first + 2)
    .map(([unitMs, name], index) => {
      const within = index === 0 ? seconds : seconds % (UNITS[first]?.[0] ?? 1);
      return [Math.floor(within / unitMs), name] as const;
    })
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(' ');
}

/**
 * A share in percent: `12.5 %`.
 * @param share - from 0 to 1.
 */
export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/**
 * A point in time, to the second, in UTC.
 * @param time - ISO 8601; null and undefined are shown as a dash.
 */
export const moment = (time: string | null | undefined): string =>
  time ? `${time.slice(0, 19).replace('T', ' ')} UTC` : '-';
