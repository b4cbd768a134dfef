import type { Point } from './flatness.js';

/** One line of a panel. */
interface PlotLine {
  readonly name: string;
  readonly points: readonly Point[];
}

/** One plot among those that stand below each other, each on its own scale. */
export interface PlotPanel {
  readonly title: string;
  readonly lines: readonly PlotLine[];
}

const WIDTH = 900;
const PANEL = 190;
const LEFT = 60;
const RIGHT = 150;
const TOP = 28;
const BOTTOM = 26;
const AREA = { width: WIDTH - LEFT - RIGHT, height: PANEL - TOP - BOTTOM };
const COLOURS = ['#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#17becf', '#7f7f7f'];
/** More names than these do not fit beside a panel. */
const NAMES_MAX = 8;
const MARKS = 4;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const short = (value: number): string => String(Math.round(value * 10) / 10);

/**
 * Draws panels below each other over the same time.
 * @param panels - at least one.
 * @returns an SVG document.
 */
export function drawPlot(title: string, panels: readonly PlotPanel[]): string {
  const times = panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points.map(({ atMs }) => atMs)));
  const lastMs = Math.max(1, ...times);
  const height = TOP + panels.length * PANEL;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    `<text x="${LEFT}" y="18" font-size="14">${escaped(title)}</text>`,
    ...panels.map((panel, n) => drawPanel(panel, TOP + n * PANEL, lastMs)),
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, lines }: PlotPanel, y: number, lastMs: number): string {
  const highest = Math.max(1, ...lines.flatMap(({ points }) => points.map(({ value }) => value || 0))) * 1.05;
  const x = (atMs: number) => short((atMs / lastMs) * AREA.width);
  const up = (value: number) => short(AREA.height - (value / highest) * AREA.height);
  const drawn = [`<g transform="translate(${LEFT},${y + TOP})">`, `<text y="-8">${escaped(title)}</text>`];
  drawn.push(`<rect width="${AREA.width}" height="${AREA.height}" fill="none" stroke="#999"/>`);
  for (let n = 0; n <= MARKS; n++) {
    const value = (highest * n) / MARKS;
    const atMs = (lastMs * n) / MARKS;
    drawn.push(`<text x="-6" y="${up(value)}" text-anchor="end">${short(value)}</text>`);
    drawn.push(
      `<text x="${x(atMs)}" y="${AREA.height + 14}" text-anchor="middle">${short(atMs / 60_000)} min</text>`,
    );
  }
  lines.forEach(({ name, points }, n) => {
    const colour = COLOURS[n % COLOURS.length];
    const path = points.map(({ atMs, value }, at) => `${at === 0 ? 'M' : 'L'}${x(atMs)} ${up(value || 0)}`);
    drawn.push(`<path d="${path.join('')}" fill="none" stroke="${colour}"/>`);
    if (n < NAMES_MAX)
      drawn.push(`<text x="${AREA.width + 10}" y="${12 + 16 * n}" fill="${colour}">${escaped(name)}</text>`);
  });
  drawn.push('</g>');
  return drawn.join('\n');
}
