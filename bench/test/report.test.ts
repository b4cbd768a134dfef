import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GaugeResult, ReadingResult } from '../src/gauges.js';
import { documentFiles, olderThan, whyNotWritable } from '../src/report/document.js';
import { BenchFiles } from '../src/report/files.js';
import { durationText, gaugeLines, linesOf, rowLines, tallyOf } from '../src/report/lines.js';
import type { BenchReport } from '../src/report/model.js';
import { reportText, summaryTable } from '../src/report/tables.js';
import type { RowResult } from '../src/rows.js';

const compared = (peer: string, ratio: number, bar: number, aim: number) => ({
  ...{ peer, pairs: 9, oursCost: 1000, peerCost: 1000 * ratio, ratio, spread: 0.031, bar, aim },
  passed: ratio >= bar,
});

const row = (work: string, ...comparisons: ReturnType<typeof compared>[]): RowResult => ({
  ...{ work, unit: 'ns', bar: 0, aim: 1, comparisons },
  noise: { ...compared('itself', 1.01, 0, 0), spread: 0.02 },
  passed: comparisons.every(({ passed }) => passed),
});

const reading = (given: Partial<ReadingResult>): ReadingResult => ({
  ...{ name: 'wait', unit: 'ms', runs: 9, median: 6, range: [4, 9], passed: true },
  ...given,
});

const gauge = (work: string, ...readings: ReadingResult[]): GaugeResult => ({
  ...{ work, runs: 9, readings, passed: readings.every(({ passed }) => passed) },
});

const MACHINE = {
  ...{ cpu: 'Test CPU', cores: 2, memoryGiB: 24, os: 'Debian, Linux 6.1, x64' },
  ...{ node: 'v20.20.2', redis: '7.0.15', postgres: '15.14' },
};

const report = (bench: string, given: Partial<BenchReport> = {}): BenchReport => ({
  ...{ bench, smoke: false, startedAt: '2026-01-02T03:04:05.000Z', seconds: 75, commit: 'abc1234' },
  ...{ machine: MACHINE, settings: ['peer 1.0.0: as | it comes'], results: [], gauges: [] },
  ...given,
});

const curve = gauge(
  'cost',
  ...[10, 100, 1000].map((at) => reading({ name: `${at} groups`, unit: 'µs', at, median: at / 10 })),
);
const REPORTS = [
  report('bulk', {
    results: [row('submit <many> jobs', compared('bee-queue', 1.2, 1.5, 3), compared('BullMQ', 12, 5, 10))],
    gauges: [curve],
  }),
  report('congestion', {
    gauges: [
      { ...gauge('100 → 40', reading({ least: 94, aim: 97, median: 96 })), plot: 'congestion-x.svg' },
      gauge('drawn', reading({ name: 'refused', most: 2, aim: 1, median: 3, passed: false })),
    ],
  }),
];

describe('lines of a report', () => {
  it('says of each peer what was measured, how noisily, and how it was judged', () => {
    const judged = row('submit', compared('a', 1.2, 1.5, 3), compared('b', 6, 5, 10), compared('c', 2, 0, 1));
    const [missed, met, read] = rowLines(judged, false).map(({ cells }) => cells);
    expect(missed).toEqual([
      ...['submit', '1,000 ns', 'a', '1,200 ns', '1.20 ×', '±3.1 %', '1.01 × ±2.0 %', '9'],
      ...['≥ 1.5 ×', '≥ 3 ×', 'MISSED'],
    ]);
    expect(met?.slice(-3)).toEqual(['≥ 5 ×', '≥ 10 ×', 'ok']);
    expect(read?.slice(-3)).toEqual(['', '≥ 1 ×', 'aim reached']);
  });

  it('names a ceiling beside the bar, and judges nothing in a smoke run', () => {
    const limited = { ...row('submit', compared('a', 2, 1, 1.5)), ceiling: 300, unit: 'bytes' };
    expect(rowLines(limited, false)[0]?.cells.slice(-3)).toEqual([
      ...['≥ 1 ×, ≤ 300 bytes', '≥ 1.5 ×', 'ok, aim reached'],
    ]);
    expect(rowLines(limited, true)[0]?.cells.at(-1)).toBe('not judged');
  });

  it('takes an aim as an upper one where the bar is one, and as a lower one elsewhere', () => {
    const verdict = (given: Partial<ReadingResult>) =>
      gaugeLines(gauge('g', reading(given)), false)[0]?.cells.slice(-2);
    expect(verdict({ most: 10, aim: 5, median: 4 })).toEqual(['≤ 5', 'ok, aim reached']);
    expect(verdict({ most: 10, aim: 5, median: 6 })).toEqual(['≤ 5', 'ok']);
    expect(verdict({ least: 10, aim: 15, median: 16 })).toEqual(['≥ 15', 'ok, aim reached']);
    expect(verdict({ aim: 5, median: 4 })).toEqual(['≥ 5', 'aim missed']);
    expect(verdict({})).toEqual(['', '']);
  });

  it('says so when a value could not be measured: a file holds null for it', () => {
    const [line] = gaugeLines(
      gauge('g', reading({ median: null as never, range: [null, null] as never })),
      false,
    );
    expect(line?.cells.slice(2, 4)).toEqual(['not measured ms', 'not measured … not measured']);
  });

  it('counts bars and aims, and names what was missed', () => {
    expect(tallyOf(REPORTS.flatMap(linesOf))).toEqual({
      ...{ bars: 4, met: 2, aims: 4, reached: 1 },
      missed: [
        'submit <many> jobs, beside bee-queue: 1.20 ×, ours 1,000 ns (bar ≥ 1.5 ×)',
        'drawn: refused: 3 ms (bar ≤ 2)',
      ],
    });
  });

  it('says durations as a person does', () => {
    expect([0.62, 59.4, 75, 3600, 5025].map(durationText)).toEqual([
      ...['0.6 s', '59.4 s', '1 min 15 s', '1 h 0 min', '1 h 23 min'],
    ]);
  });
});

describe('the document of all benchmarks', () => {
  const files = documentFiles(REPORTS);
  const text = files.get('benchmarks.md') ?? '';

  it('begins with the machine, the bars met and missed, and when what was run', () => {
    const [head = ''] = text.split('## How to read');
    expect(head).toContain('- Test CPU, 2 cores, 24 GiB');
    expect(head).toContain('- Node.js v20.20.2, Redis 7.0.15, PostgreSQL 15.14');
    expect(head).toContain('**2 of 4 bars met, 1 of 4 aims reached.** 2 bars were missed:');
    expect(head).toContain('- bulk: submit <many> jobs, beside bee-queue: 1.20 ×');
    expect(head).toContain('| bulk | 1 of 2 | 1 of 2 | 1 min 15 s | 2026-01-02 03:04 UTC | abc1234 |');
  });

  it('says so when no bar was missed', () => {
    const good = report('good', { results: [row('work', compared('peer', 2, 1, 1.5))] });
    expect(documentFiles([good]).get('benchmarks.md')).toContain(
      '**1 of 1 bars met, 1 of 1 aims reached.** No bar was missed.',
    );
  });

  it('has every cell and setting that was printed, and no number that was not', () => {
    const printed = `${REPORTS.map(reportText).join('\n')}\n${summaryTable(REPORTS)}`;
    for (const { cells } of REPORTS.flatMap(linesOf))
      for (const cell of cells) {
        expect(printed).toContain(cell);
        expect(text).toContain(cell);
      }
    expect(text).toContain('- peer 1.0.0: as | it comes');
    const tables = text.split('\n').filter((line) => line.startsWith('| '));
    const numbers = tables.join(' ').match(/\d[\d.,]*/g) ?? [];
    expect(numbers.length).toBeGreaterThan(30);
    for (const number of numbers) expect(printed).toContain(number);
  });

  it('has tables whose lines are as wide as their heads', () => {
    const widths = text
      .split(/\n\n/)
      .filter((part) => part.startsWith('|'))
      .map((table) => new Set(table.split('\n').map((line) => line.split('|').length)).size);
    expect(widths.length).toBe(4);
    for (const width of widths) expect(width).toBe(1);
  });

  it('shows pictures that are there: those of all, and those that gauges have left', () => {
    const shown = [...text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => path);
    expect(shown).toEqual(['benchmarks/ratios.svg', 'benchmarks/growth.svg', 'benchmarks/congestion-x.svg']);
    expect([...files.keys()]).toEqual(['benchmarks/ratios.svg', 'benchmarks/growth.svg', 'benchmarks.md']);
  });

  it('draws no picture of what was not measured', () => {
    const none = documentFiles([report('server', { gauges: [gauge('upload', reading({}))] })]);
    expect([...none.keys()]).toEqual(['benchmarks.md']);
  });
});

describe('the pictures', () => {
  const files = documentFiles(REPORTS);
  const ratios = files.get('benchmarks/ratios.svg') ?? '';
  const growth = files.get('benchmarks/growth.svg') ?? '';

  it.each([
    ['ratios', ratios],
    ['growth', growth],
  ])('%s: is a whole document with a background of its own in both themes', (_, svg) => {
    for (const tag of ['svg', 'g', 'text', 'style'])
      expect(svg.match(new RegExp(`<${tag}[ >]`, 'g'))?.length, tag).toBe(
        svg.match(new RegExp(`</${tag}>`, 'g'))?.length,
      );
    expect(svg).toContain('prefers-color-scheme:dark');
    expect(svg).toContain('class="card"');
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('a ratio above 1 goes to the right, one below to the left, and bar and aim stand where they belong', () => {
    const below = report('b', { results: [row('w', compared('p', 0.5, 1, 2))] });
    const svg = documentFiles([below]).get('benchmarks/ratios.svg') ?? '';
    const one = Number(/class="frame" x1="([\d.]+)"/.exec(svg)?.[1]);
    const [, left, width] = /<rect x="([\d.]+)" y="\d+" width="([\d.]+)"/.exec(svg) ?? [];
    expect(Number(left)).toBeLessThan(one);
    expect(Number(left) + Number(width)).toBeCloseTo(one, 0);
    expect(Number(/class="mark" x1="([\d.]+)" x2="[\d.]+" y1="1/.exec(svg)?.[1])).toBeCloseTo(one, 0);
    expect(Number(/class="ring" cx="([\d.]+)" cy="1/.exec(svg)?.[1])).toBeGreaterThan(one);
    expect(svg).toContain('0.50 ×');
  });

  it('a ceiling of our own cost is marked where ours would stand at it', () => {
    const limited = { ...row('w', compared('p', 4, 0, 1)), ceiling: 2000 };
    const svg = documentFiles([report('b', { results: [limited] })]).get('benchmarks/ratios.svg') ?? '';
    const marks = [...svg.matchAll(/<text class="soft mid" x="([\d.]+)" y="\d+">([\d.]+)</g)];
    const two = Number(marks.find(([, , ratio]) => ratio === '2')?.[1]);
    expect(Number(/class="mark" x1="([\d.]+)" x2="[\d.]+" y1="1/.exec(svg)?.[1])).toBeCloseTo(two, 0);
  });

  it('what was missed has another colour than what was met or only read', () => {
    const fills = [...ratios.matchAll(/<rect x="[\d.]+" y="\d+" width="[\d.]+" height="\d+" fill="(#\w+)"/g)];
    const [missed, met] = fills.map(([, fill]) => fill);
    expect(new Set([missed, met]).size).toBe(2);
    expect(ratios).toContain('submit &lt;many&gt; jobs');
  });

  it('a curve rises with its values, over a logarithmic axis', () => {
    const path = /<path d="M([^"]+)"/.exec(growth)?.[1] ?? '';
    const points = path.split('L').map((point) => point.split(' ').map(Number) as [number, number]);
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    expect(xs).toEqual([30, 280, 530]);
    expect(ys).toEqual([...ys].sort((a, b) => b - a));
    expect(growth).toContain('100.00 × from first to last');
  });
});

describe('whether there is anything to write', () => {
  const found = (...reports: (BenchReport | [string, undefined])[]) =>
    new Map(reports.map((one) => (Array.isArray(one) ? one : [one.bench, one])));

  it('only of measurements of all benchmarks on one machine', () => {
    expect(whyNotWritable(found(report('a'), report('b')))).toEqual([]);
    expect(whyNotWritable(found(report('a'), ['b', undefined]))).toEqual([
      "There is no result of 'b': run it, or all of them",
    ]);
    expect(whyNotWritable(found(report('a', { smoke: true })))[0]).toContain('smoke run');
    const other = report('b', { machine: { ...MACHINE, cores: 64 } });
    expect(whyNotWritable(found(report('a'), other))[0]).toContain('2 machines');
  });

  it('names what is older than this run', () => {
    const newer = report('b', { startedAt: '2026-02-02T00:00:00.000Z' });
    expect(olderThan([report('a'), newer], '2026-02-01T00:00:00.000Z')).toEqual([
      'a (2026-01-02T03:04:05.000Z, commit abc1234)',
    ]);
  });
});

describe('the files', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('what was left by a run is written, with its pictures and without those of rows that are no more', () => {
    const files = new BenchFiles(root);
    for (const one of REPORTS) files.saveReport(one);
    files.savePicture('congestion-x.svg', '<svg/>', false);
    const reports = [...files.findReports(['bulk', 'congestion']).values()].flatMap((one) => one ?? []);
    expect(reports).toEqual(REPORTS);
    files.writeDocument(reports);
    const pictures = join(root, 'docs/benchmarks');
    writeFileSync(join(pictures, 'gone.svg'), '');
    const written = files.writeDocument(reports);
    expect(readdirSync(pictures).sort()).toEqual(['congestion-x.svg', 'growth.svg', 'ratios.svg']);
    expect(written).toHaveLength(4);
    expect(readFileSync(join(root, 'docs/benchmarks.md'), 'utf8')).toBe(
      documentFiles(REPORTS).get('benchmarks.md'),
    );
  });

  it('a smoke run replaces no measurement, and what has begun anew has no result', () => {
    const files = new BenchFiles(root);
    files.saveReport(report('bulk'));
    files.saveReport(report('bulk', { smoke: true }));
    expect(files.findReports(['bulk', 'other'])).toEqual(
      new Map([
        ['bulk', report('bulk')],
        ['other', undefined],
      ]),
    );
    files.dropReport('bulk', false);
    expect(files.findReports(['bulk']).get('bulk')).toBeUndefined();
  });
});
