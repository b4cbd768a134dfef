import type { BenchReport } from './model.js';
import { COLOURS, escaped, markDistance, picture, short } from './svg.js';

const SIZE = { width: 860, height: 300, left: 56 };
const AREA = { x: 56, y: 44, width: 560, height: 210 };
const CURVE_COLOURS = [COLOURS.blue, COLOURS.orange, COLOURS.red, COLOURS.grey];
/** Room for the values at both ends. */
const INSET = 30;
const LABEL_CHARACTERS = 34;

interface Curve {
  readonly name: string;
  readonly points: readonly { readonly at: number; readonly value: number; readonly unit: string }[];
}

/** The gauges whose readings are points of a curve. */
export const curvesOf = (reports: readonly BenchReport[]): Curve[] =>
  reports.flatMap(({ bench, gauges }) =>
    gauges.flatMap(({ readings }) => {
      const points = readings.flatMap(({ at, median, unit }) =>
        at === undefined ? [] : [{ at, value: median, unit }],
      );
      return points.length > 1 && points.length === readings.length ? [{ name: bench, points }] : [];
    }),
  );

/**
 * Cost over a size that grows tenfold from mark to mark.
 * @param curves - at least one, all in one unit.
 * @returns an SVG document.
 */
export function growthPlot(curves: readonly Curve[], title: string, along: string): string {
  const points = curves.flatMap((curve) => curve.points);
  const unit = points[0]?.unit ?? '';
  const sizes = [...new Set(points.map(({ at }) => at))].sort((a, b) => a - b);
  const [least, most] = [sizes[0] ?? 1, sizes.at(-1) ?? 10];
  const highest = Math.max(Number.MIN_VALUE, ...points.map(({ value }) => value)) * 1.1;
  const x = (at: number) =>
    INSET + ((AREA.width - 2 * INSET) * Math.log(at / least)) / Math.log(most / least);
  const y = (value: number) => AREA.height * (1 - value / highest);
  const distance = markDistance(highest, 5);
  const marks = Array.from({ length: Math.floor(highest / distance) + 1 }, (_, index) => index * distance);
  return picture(SIZE, title, [
    `<g transform="translate(${AREA.x},${AREA.y})">`,
    ...marks.flatMap((value) => [
      `<line class="grid" x2="${AREA.width}" y1="${short(y(value))}" y2="${short(y(value))}"/>`,
      `<text class="soft end" x="-6" y="${short(y(value) + 4)}">${Number(value.toPrecision(6))}</text>`,
    ]),
    `<rect class="frame" width="${AREA.width}" height="${AREA.height}"/>`,
    ...sizes.map(
      (at) =>
        `<text class="soft mid" x="${short(x(at))}" y="${AREA.height + 16}">${at.toLocaleString('en')}</text>`,
    ),
    `<text class="soft mid" x="${AREA.width / 2}" y="${AREA.height + 34}">${escaped(along)}</text>`,
    `<text class="soft mid" transform="translate(-42,${AREA.height / 2}) rotate(-90)">${escaped(unit)} per job</text>`,
    ...curves.flatMap((curve, index) => drawCurve(curve, index, { x, y })),
    '</g>',
  ]);
}

interface Places {
  x(at: number): number;
  y(value: number): number;
}

function drawCurve({ name, points }: Curve, index: number, { x, y }: Places): string[] {
  const colour = CURVE_COLOURS[index % CURVE_COLOURS.length] ?? COLOURS.grey;
  const places = points.map(({ at, value }) => `${short(x(at))} ${short(y(value))}`);
  const [first, last] = [points[0]?.value ?? Number.NaN, points.at(-1)?.value ?? Number.NaN];
  const grown = `${(last / first).toFixed(2)} × from first to last`;
  const top = 12 + 40 * index;
  const left = AREA.width + 16;
  return [
    `<path d="M${places.join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.map(
      ({ at, value }) =>
        `<circle cx="${short(x(at))}" cy="${short(y(value))}" r="3.5" fill="${colour}"/><text class="mid" x="${short(x(at))}" y="${short(y(value) - 8)}">${Number(value.toPrecision(3))}</text>`,
    ),
    `<rect x="${left}" y="${top - 9}" width="10" height="10" fill="${colour}"/>`,
    `<text class="strong" x="${left + 16}" y="${top}">${escaped(name.slice(0, LABEL_CHARACTERS))}</text>`,
    `<text class="soft" x="${left + 16}" y="${top + 15}">${grown}</text>`,
  ];
}
