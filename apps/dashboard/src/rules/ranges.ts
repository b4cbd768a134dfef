/** A time to look back over. */
export interface Range {
  readonly id: string;
  readonly name: string;
  readonly minutes: number;
  /** Seconds between two points, as the server keeps them. */
  readonly step: '10' | '60';
}

/** What people look back over; points of ten seconds are kept for an hour, of a minute for a day. */
export const RANGES = [
  { id: '15m', name: '15 min', minutes: 15, step: '10' },
  { id: '1h', name: 'hour', minutes: 60, step: '10' },
  { id: '6h', name: '6 hours', minutes: 360, step: '60' },
  { id: '24h', name: 'day', minutes: 1_440, step: '60' },
] as const satisfies readonly Range[];

/** The range of an id; the shortest for one that is none. */
export const rangeOf = (id: string): Range => RANGES.find((range) => range.id === id) ?? RANGES[0];
