import { escaped, markDistance, picture, short } from '../report/svg.js';

/** One line of a plot: a value for every tick. */
interface Line {
  readonly name: string;
  readonly colour: string;
  readonly values: readonly number[];
  /** Broken into dashes: what is not measured but given. */
  readonly dashed?: boolean | undefined;
}

/** One plot among those that stand below each other. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** What all panels share. */
export interface PlotOptions {
  readonly tickMs: number;
  /** What the vertical axis counts. */
  readonly unit: string;
  /** Values above are drawn at the top: one burst must not flatten the rest. */
  readonly most?: number | undefined;
}

const WIDTH = 860;
const PANEL = 210;
const LEFT = 56;
const RIGHT = 150;
const TOP = 30;
const BOTTOM = 30;
const AREA = { width: WIDTH - LEFT - RIGHT, height: PANEL - TOP - BOTTOM };

/**
 * Draws panels below each other on the same axes, so that they can be compared.
 * @param panels - at least one, with at least one value.
 * @returns an SVG document.
 */
export function plot(title: string, panels: readonly Panel[], options: PlotOptions): string {
  const all = panels.flatMap(({ lines }) => lines);
  const ticks = Math.max(2, ...all.map(({ values }) => values.length));
  const finite = all.flatMap(({ values }) => values.filter(Number.isFinite));
  const highest = Math.max(
    1,
    Math.min(options.most ?? Number.POSITIVE_INFINITY, Math.max(0, ...finite) * 1.05),
  );
  const height = TOP + panels.length * PANEL;
  const axes: Axes = { ticks, highest, ...options };
  return picture(
    { width: WIDTH, height, left: LEFT },
    title,
    panels.map((panel, index) => drawPanel(panel, TOP + index * PANEL, axes)),
  );
}

interface Axes extends PlotOptions {
  readonly ticks: number;
  readonly highest: number;
}

function drawPanel({ title, lines }: Panel, y: number, axes: Axes): string {
  return [
    `<g transform="translate(${LEFT},${y + TOP})">`,
    `<text class="strong" y="-8">${escaped(title)}</text>`,
    ...marks(axes),
    ...lines.map((line) => drawLine(line, axes)),
    ...lines.map(({ name, colour }, index) => legend(name, colour, index)),
    '</g>',
  ].join('\n');
}

function marks({ ticks, highest, tickMs, unit }: Axes): string[] {
  const { width, height } = AREA;
  const seconds = ((ticks - 1) * tickMs) / 1000;
  const drawn = [`<rect width="${width}" height="${height}" class="frame"/>`];
  const upwards = markDistance(highest, 5);
  for (let value = 0; value <= highest; value += upwards) {
    const y = short(height - (value / highest) * height);
    drawn.push(`<line x2="${width}" y1="${y}" y2="${y}" class="grid"/>`);
    drawn.push(`<text class="soft end" x="-6" y="${y}" dominant-baseline="middle">${short(value)}</text>`);
  }
  const along = markDistance(seconds, 10);
  for (let second = 0; second <= seconds; second += along)
    drawn.push(
      `<text class="soft mid" x="${short((second / seconds) * width)}" y="${height + 14}">${short(second)} s</text>`,
    );
  drawn.push(
    `<text class="soft mid" transform="translate(-40,${height / 2}) rotate(-90)">${escaped(unit)}</text>`,
  );
  return drawn;
}

/** A value that is no number (no limit at that time) breaks the line. */
function drawLine({ colour, values, dashed }: Line, { ticks, highest }: Axes): string {
  let path = '';
  let isDown = false;
  values.forEach((value, tick) => {
    if (!Number.isFinite(value)) {
      isDown = false;
      return;
    }
    const x = (tick / (ticks - 1)) * AREA.width;
    const y = AREA.height - (Math.min(highest, Math.max(0, value)) / highest) * AREA.height;
    path += `${isDown ? 'L' : 'M'}${short(x)} ${short(y)}`;
    isDown = true;
  });
  const dash = dashed ? ' stroke-dasharray="5 4"' : '';
  return `<path d="${path}" fill="none" stroke="${escaped(colour)}" stroke-width="1.5"${dash}/>`;
}

function legend(name: string, colour: string, index: number): string {
  const x = AREA.width + 12;
  const y = 10 + 18 * index;
  return `<rect x="${x}" y="${y - 8}" width="12" height="8" fill="${escaped(colour)}"/><text x="${x + 18}" y="${y}">${escaped(name)}</text>`;
}
