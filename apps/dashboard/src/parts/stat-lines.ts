import type { StatPoint } from '@millrace/contract';
import type { Stats } from '../data/stats.js';
import type { Series } from './time-chart.js';

/** What happened, as lines of charts. */
export interface StatLines {
  readonly times: readonly number[];
  /** One number of each point; null where nobody has reported. */
  values(read: (point: StatPoint) => number | null | undefined): readonly (number | null)[];
  /** Three lines: how it was for half of them, for nearly all, and for the unlucky. */
  percentiles(read: (point: StatPoint) => StatPoint['waitMs']): readonly Series[];
}

/**
 * Points of the last hours as lines of charts.
 * @param stats - undefined: they are on their way.
 */
export function statLines(stats: Stats | undefined): StatLines {
  const points = stats?.points ?? [];
  const from = stats ? Date.parse(stats.from) / 1000 : 0;
  const times = points.map((_, index) => from + index * (stats?.step ?? 10));
  const values: StatLines['values'] = (read) => points.map((point) => (point ? (read(point) ?? null) : null));
  return {
    times,
    values,
    percentiles: (read) => [
      { label: 'p50', tone: 'run', values: values((point) => read(point)?.p50) },
      { label: 'p95', tone: 'run', style: 'faint', values: values((point) => read(point)?.p95) },
      { label: 'p99', tone: 'hold', style: 'dashed', values: values((point) => read(point)?.p99) },
    ],
  };
}
