const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/**
 * A number of bytes in its largest unit: `1.5 GB`.
 */
export function bytes(count: number): string {
  const unit = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(count))) / 10)),
  );
  const value = count / 1024 ** unit;
  return `${value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 10 && unit > 0 ? 1 : 0 })} ${UNITS[unit]}`;
}
