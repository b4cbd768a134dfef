import type { GaugeResult, ReadingResult } from '../gauges.js';
import type { RowResult } from '../rows.js';
import type { BenchReport } from './model.js';

/** One line of a table: the same on the screen and in the document. */
export interface Line {
  readonly cells: readonly string[];
  /** Whether there is a bar, and whether it was met. */
  readonly isJudged: boolean;
  readonly isMet: boolean;
  /** Whether there is an aim, and whether it was reached. */
  readonly hasAim: boolean;
  readonly isAimReached: boolean;
  /** The line in a sentence, for lists of what was missed. */
  readonly says: string;
}

/** Heads of the tables of rows and of gauges. */
export const ROW_HEAD = [
  ...['work', 'ours', 'peer', 'peer’s', 'ratio', 'spread', 'self-noise', 'pairs', 'bar', 'aim', 'verdict'],
];
export const GAUGE_HEAD = ['work', 'reading', 'median', 'from … to', 'runs', 'bar', 'aim', 'verdict'];

/** How the tables are read; printed with them. */
export const HOW_TO_READ = [
  'ratio: the peer’s cost ÷ ours, the median over alternating pairs; above 1 ours costs less. spread: half the distance of its quartiles.',
  'self-noise: the first peer of the row against itself, as a ratio with its spread; it would be 1.00 × on a machine without noise.',
  'A bar of 1 passes at 0.95, every other one as it stands. What has no bar is there to be read.',
];

const percent = (share: number) => `±${(share * 100).toFixed(1)} %`;
const times = (ratio: number) => `${ratio.toFixed(2)} ×`;
/** JSON knows no NaN: what could not be measured comes back from a file as null. */
const significant = (value: number | null, digits: number): string =>
  value === null || Number.isNaN(value)
    ? 'not measured'
    : Number(value.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: digits });
const withUnit = (value: number, unit: string, digits = 4) => `${significant(value, digits)} ${unit}`.trim();

type Judgement = Omit<Line, 'cells' | 'says'>;

function verdictOf({ isJudged, isMet, hasAim, isAimReached }: Judgement, smoke: boolean): string {
  if (smoke) return 'not judged';
  if (isJudged && !isMet) return 'MISSED';
  const aim = isAimReached ? 'aim reached' : 'aim missed';
  if (isJudged) return hasAim && isAimReached ? `ok, ${aim}` : 'ok';
  return hasAim ? aim : '';
}

/** The lines of a row, one for each peer. */
export function rowLines(row: RowResult, smoke: boolean): Line[] {
  const { work, unit, ceiling, comparisons, noise } = row;
  return comparisons.map(({ peer, pairs, oursCost, peerCost, ratio, spread, bar, aim, passed }) => {
    const bounds = [bar > 0 ? `≥ ${bar} ×` : '', ceiling === undefined ? '' : `≤ ${withUnit(ceiling, unit)}`];
    const bound = bounds.filter((text) => text !== '').join(', ');
    const judgement = { isJudged: bound !== '', isMet: passed, hasAim: aim > 0, isAimReached: ratio >= aim };
    const cells = [
      ...[work, withUnit(oursCost, unit), peer, withUnit(peerCost, unit), times(ratio), percent(spread)],
      noise ? `${times(noise.ratio)} ${percent(noise.spread)}` : '',
      ...[String(pairs), bound, `≥ ${aim} ×`, verdictOf(judgement, smoke)],
    ];
    const says = `${work}, beside ${peer}: ${times(ratio)}, ours ${withUnit(oursCost, unit)} (bar ${bound})`;
    return { ...judgement, cells, says };
  });
}

/** The lines of a gauge, one for each reading. */
export const gaugeLines = ({ work, readings }: GaugeResult, smoke: boolean): Line[] =>
  readings.map((reading) => readingLine(work, reading, smoke));

function readingLine(work: string, reading: ReadingResult, smoke: boolean): Line {
  const { name, unit, least, most, everyRun, aim, median, range, runs, passed } = reading;
  const bounded = least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : '';
  const bound = bounded !== '' && everyRun ? `every ${bounded}` : bounded;
  // Less is better where the bar is an upper one, more everywhere else.
  const isLess = most !== undefined;
  const isAimReached = aim !== undefined && (isLess ? median <= aim : median >= aim);
  const judgement = { isJudged: bound !== '', isMet: passed, hasAim: aim !== undefined, isAimReached };
  const value = withUnit(median, unit, 5);
  const cells = [
    ...[work, name, value, `${significant(range[0], 5)} … ${significant(range[1], 5)}`, String(runs), bound],
    aim === undefined ? '' : `${isLess ? '≤' : '≥'} ${aim}`,
    verdictOf(judgement, smoke),
  ];
  return { ...judgement, cells, says: `${work}: ${name}: ${value} (bar ${bound})` };
}

/** All lines of a report. */
export const linesOf = ({ results, gauges, smoke }: BenchReport): Line[] => [
  ...results.flatMap((row) => rowLines(row, smoke)),
  ...gauges.flatMap((gauge) => gaugeLines(gauge, smoke)),
];

/** How many bars were met and aims reached, of how many; and what was missed. */
export interface Tally {
  readonly bars: number;
  readonly met: number;
  readonly aims: number;
  readonly reached: number;
  readonly missed: readonly string[];
}

/** Counts lines. */
export function tallyOf(lines: readonly Line[]): Tally {
  const judged = lines.filter(({ isJudged }) => isJudged);
  const aimed = lines.filter(({ hasAim }) => hasAim);
  const missed = judged.filter(({ isMet }) => !isMet);
  return {
    bars: judged.length,
    met: judged.length - missed.length,
    aims: aimed.length,
    reached: aimed.filter(({ isAimReached }) => isAimReached).length,
    missed: missed.map(({ says }) => says),
  };
}

/** Head of the table of all benchmarks. */
export const SUMMARY_HEAD = ['benchmark', 'bars met', 'aims reached', 'took', 'when', 'commit'];

/** One line for each benchmark. */
export const summaryCells = (reports: readonly BenchReport[]): string[][] =>
  reports.map((report) => {
    const { bars, met, aims, reached } = tallyOf(linesOf(report));
    const of = (some: number, all: number) => (all === 0 ? 'none set' : `${some} of ${all}`);
    const when = `${report.startedAt.slice(0, 16).replace('T', ' ')} UTC`;
    const judged = report.smoke ? ['not judged', 'not judged'] : [of(met, bars), of(reached, aims)];
    return [report.bench, ...judged, durationText(report.seconds), when, report.commit];
  });

/** Seconds as a person says them. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${Number(seconds.toFixed(1))} s`;
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** The machine, a line for each thing worth knowing. */
export const machineLines = ({
  cpu,
  cores,
  memoryGiB,
  os,
  node,
  redis,
  postgres,
}: BenchReport['machine']) => [
  `${cpu}, ${cores} cores, ${memoryGiB} GiB`,
  os,
  `Node.js ${node}, Redis ${redis}, PostgreSQL ${postgres}`,
];
