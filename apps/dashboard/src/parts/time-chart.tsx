import { type ReactNode, useEffect, useRef, useState } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '../look/theme.js';
import { clockText } from '../rules/times.js';
import type { Tone } from '../rules/tones.js';
import './time-chart.css';

/** One line of a chart. */
export interface Series {
  readonly label: string;
  /** One for each time; null: nobody knows. */
  readonly values: readonly (number | null)[];
  readonly tone: Tone;
  /** Lines of one tone are told apart by it. */
  readonly style?: 'solid' | 'faint' | 'dashed';
  readonly isFilled?: boolean;
  /** Drawn as stairs: it was so until it changed. */
  readonly isStepped?: boolean;
  /** Drawn as bars around their times: how often, not how much. */
  readonly isBars?: boolean;
}

/** Numbers over time. */
export interface TimeChartProps {
  readonly label: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** How a value is written. */
  readonly text: (value: number | null) => string;
  readonly height?: number;
  /** The axis ends here at least. */
  readonly atLeast?: number;
  /** From when to when, in seconds since 1970: charts side by side have one axis. From the first to the last time unless given. */
  readonly span?: readonly [from: number, to: number] | undefined;
}

const STYLES = {
  solid: { width: 2, alpha: 1 },
  faint: { width: 1.5, alpha: 0.55 },
  dashed: { width: 1.5, alpha: 0.8, dash: [5, 4] },
} as const;

/** Room for the numbers of the left axis. */
const AXIS_WIDTH = 58;
/** The same for the times of the lower one. */
const AXIS_HEIGHT = 26;

/** A line chart over time; pointing at it shows the numbers of that time, without it those of the last. */
export function TimeChart({
  label,
  times,
  series,
  text,
  height = 168,
  atLeast = 1,
  span,
}: TimeChartProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const theme = useTheme();
  const shape = series
    .map(({ label: name, tone, style, isFilled, isBars }) => [name, tone, style, isFilled, isBars].join())
    .join(';');
  const latest = useRef({ times, series, text, span });
  latest.current = { times, series, text, span };

  // Made anew only when its lines or colours are others: new numbers are drawn into the same one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: shape and theme stand for what is read of the series and the style sheet.
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const colour = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
    const made = new UPlot(
      {
        width: element.clientWidth || 300,
        height,
        // Half of the last time stands right of the last point.
        padding: [10, 26, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        scales: {
          x: { range: (_, first, last) => [...(latest.current.span ?? [first, last])] },
          y: { range: (_, __, most) => [0, Math.max(atLeast, most * 1.08)] },
        },
        axes: axesOf(colour, (value) => latest.current.text(value)),
        series: [{}, ...latest.current.series.map((one) => seriesOf(one, colour))],
        hooks: { setCursor: [({ cursor: { idx } }) => setPointed(idx ?? undefined)] },
      },
      dataOf(latest.current.times, latest.current.series),
      element,
    );
    chart.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [shape, theme, height, atLeast]);

  useEffect(() => chart.current?.setData(dataOf(times, series)), [times, series]);

  const at = pointed !== undefined && pointed < times.length ? pointed : lastKnown(series);
  return (
    <figure className="chart">
      <Legend series={series} text={text} at={at} time={pointed === undefined ? undefined : times[at]} />
      <div ref={frame} className="chart-frame" style={{ height }} role="img" aria-label={label} />
    </figure>
  );
}

/** The numbers of one time, and which time it is when somebody points at it. */
function Legend({
  series,
  text,
  at,
  time,
}: Pick<TimeChartProps, 'series' | 'text'> & {
  readonly at: number;
  readonly time: number | undefined;
}): ReactNode {
  return (
    <figcaption className="chart-legend small">
      {series.map(({ label: name, values, tone, style = 'solid' }) => (
        <span key={name} className="chart-key">
          <span className={`chart-line line-${style} fill-${tone}`} aria-hidden="true" />
          <span className="quiet">{name}</span> <b className="number">{text(values[at] ?? null)}</b>
        </span>
      ))}
      <span className="quiet number chart-time">{time ? clockText(time * 1000) : ''}</span>
    </figcaption>
  );
}

const dataOf = (times: readonly number[], series: readonly Series[]): UPlot.AlignedData =>
  [times, ...series.map(({ values }) => values)] as unknown as UPlot.AlignedData;

function lastKnown(series: readonly Series[]): number {
  const ends = series.map(({ values }) => values.findLastIndex((value) => value !== null));
  return Math.max(0, ...ends);
}

function axesOf(colour: (name: string) => string, text: (value: number) => string): UPlot.Axis[] {
  const shared = {
    stroke: colour('--ink-3'),
    font: `11px ${colour('--sans')}`,
    ticks: { show: false },
    grid: { stroke: colour('--line'), width: 1 },
  };
  return [
    {
      ...shared,
      grid: { show: false },
      size: AXIS_HEIGHT,
      space: 70,
      values: [
        [3600, '{HH}:{mm}'],
        [60, '{HH}:{mm}'],
        [1, '{HH}:{mm}:{ss}'],
      ].map(([step, format]) => [step, format, null, null, null, null, null, null, 1]) as UPlot.Axis.Values,
    },
    { ...shared, size: AXIS_WIDTH, space: 34, values: (_, splits) => splits.map((value) => text(value)) },
  ];
}

function seriesOf(
  { label, tone, style = 'solid', isFilled, isStepped, isBars }: Series,
  colour: (name: string) => string,
): UPlot.Series {
  const { alpha, ...line } = STYLES[style];
  const stroke = colour(`--${tone}-fill`);
  return {
    label,
    stroke,
    alpha,
    ...line,
    dash: 'dash' in line ? [...line.dash] : [],
    points: { show: false },
    spanGaps: false,
    ...(isFilled && { fill: `color-mix(in oklab, ${stroke} 14%, transparent)` }),
    ...(isStepped && UPlot.paths.stepped && { paths: UPlot.paths.stepped({ align: 1 }) }),
    ...(isBars &&
      UPlot.paths.bars && { paths: UPlot.paths.bars({ size: [0.7, 14, 2] }), fill: stroke, width: 0 }),
  };
}
