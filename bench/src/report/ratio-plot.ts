import { linesOf } from './lines.js';
import type { BenchReport } from './model.js';
import { COLOURS, escaped, picture, short } from './svg.js';

const WIDTH = 860;
const LEFT = 20;
/** Where the bars are drawn; names stand before them, values behind. */
const [FROM, TO] = [300, 780];
const [LINE, WORK, HEADING] = [17, 21, 30];
const TOP = 70;
const LABEL_CHARACTERS = 44;
const WORK_CHARACTERS = 125;
const MARKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** A ratio on the logarithmic axis. */
type Place = (ratio: number) => number;

interface Bar {
  readonly peer: string;
  readonly ratio: number;
  readonly bar: number;
  readonly aim: number;
  /** Missed, met, or there to be read. */
  readonly colour: string;
}

interface Block {
  readonly bench: string;
  readonly rows: readonly { readonly work: string; readonly bars: readonly Bar[] }[];
}

/**
 * Every ratio to a peer as a bar from 1, with the bar that it had to pass and the aim marked on it.
 * @param reports - those without rows are left out.
 * @returns an SVG document.
 */
export function ratioPlot(reports: readonly BenchReport[]): string {
  const blocks = reports.map(blockOf).filter(({ rows }) => rows.length > 0);
  const all = blocks.flatMap(({ rows }) => rows.flatMap(({ bars }) => bars));
  const numbers = all.flatMap(({ ratio, bar, aim }) => [ratio, bar, aim]).filter((value) => value > 0);
  const [low, high] = [Math.min(0.5, ...numbers) / 1.15, Math.max(2, ...numbers) * 1.15];
  const place: Place = (ratio) => {
    const within = Math.min(high, Math.max(low, ratio));
    return FROM + ((TO - FROM) * Math.log(within / low)) / Math.log(high / low);
  };
  let y = TOP;
  const parts: string[] = [];
  for (const { bench, rows } of blocks) {
    y += HEADING;
    parts.push(`<text class="strong" x="${LEFT}" y="${y - 8}">${escaped(bench)}</text>`);
    for (const { work, bars } of rows) {
      y += WORK;
      parts.push(`<text class="soft" x="${LEFT}" y="${y - 5}">${escaped(cut(work, WORK_CHARACTERS))}</text>`);
      for (const bar of bars) {
        parts.push(...drawBar(bar, y, place));
        y += LINE;
      }
    }
  }
  const height = y + 14;
  const marks = MARKS.filter((ratio) => ratio >= low && ratio <= high);
  const title = 'The peer’s cost ÷ ours: to the right of 1 ours costs less';
  return picture({ width: WIDTH, height, left: LEFT }, title, [
    ...legend(),
    ...marks.flatMap((ratio) => drawMark(ratio, height, place)),
    ...parts,
  ]);
}

function blockOf(report: BenchReport): Block {
  const rows = report.results.map((row) => {
    const lines = linesOf({ ...report, results: [row], gauges: [] });
    const bars = row.comparisons.map((comparison, index) => {
      const { peer, ratio, aim } = comparison;
      const bar = leastOf(comparison, row.ceiling);
      const line = lines[index];
      const isRead = report.smoke || !line?.isJudged;
      const colour = isRead ? COLOURS.grey : line?.isMet ? COLOURS.blue : COLOURS.red;
      return { peer, ratio, bar, aim, colour };
    });
    return { work: row.work, bars };
  });
  return { bench: report.bench, rows };
}

/** A ceiling of our own cost is a ratio, too: that at which ours would stand at it. */
const leastOf = ({ bar, peerCost }: { bar: number; peerCost: number }, ceiling?: number): number =>
  bar > 0 || ceiling === undefined ? bar : peerCost / ceiling;

const cut = (text: string, characters: number) =>
  text.length > characters ? `${text.slice(0, characters - 1)}…` : text;

function drawBar({ peer, ratio, bar, aim, colour }: Bar, y: number, place: Place): string[] {
  const [one, end] = [place(1), place(ratio)];
  const middle = y + LINE / 2;
  return [
    `<text class="end" x="${FROM - 10}" y="${short(middle + 4)}">${escaped(cut(peer, LABEL_CHARACTERS))}</text>`,
    `<rect x="${short(Math.min(one, end))}" y="${y + 3}" width="${short(Math.max(1, Math.abs(end - one)))}" height="${LINE - 6}" fill="${colour}"/>`,
    ...(bar > 0
      ? [
          `<line class="mark" x1="${short(place(bar))}" x2="${short(place(bar))}" y1="${y}" y2="${y + LINE}"/>`,
        ]
      : []),
    ...(aim > 0 ? [`<circle class="ring" cx="${short(place(aim))}" cy="${middle}" r="3.5"/>`] : []),
    `<text class="end" x="${WIDTH - LEFT}" y="${short(middle + 4)}">${ratio.toFixed(2)} ×</text>`,
  ];
}

function drawMark(ratio: number, height: number, place: Place): string[] {
  const x = short(place(ratio));
  return [
    `<line class="${ratio === 1 ? 'frame' : 'grid'}" x1="${x}" x2="${x}" y1="${TOP}" y2="${height - 10}"/>`,
    `<text class="soft mid" x="${x}" y="${TOP - 5}">${ratio}</text>`,
  ];
}

function legend(): string[] {
  const y = 42;
  const entries: readonly (readonly [x: number, sign: string, text: string])[] = [
    [0, square(COLOURS.blue), 'bar met'],
    [80, square(COLOURS.red), 'bar missed'],
    [175, square(COLOURS.grey), 'no bar: to be read'],
    [310, '<line class="mark" x1="5" x2="5" y1="-10" y2="2"/>', 'the bar'],
    [385, '<circle class="ring" cx="5" cy="-4" r="3.5"/>', 'the aim'],
  ];
  return entries.map(
    ([x, sign, text]) =>
      `<g transform="translate(${LEFT + x},${y})">${sign}<text x="16">${escaped(text)}</text></g>`,
  );
}

const square = (colour: string) => `<rect y="-9" width="10" height="10" fill="${colour}"/>`;
