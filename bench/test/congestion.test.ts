import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { aimdAlone, vegasAlone } from '../src/congestion/comparators.js';
import { HiddenService, type ServiceReport } from '../src/congestion/hidden-service.js';
import { outcomePlot, outcomeTable, scoreOf } from '../src/congestion/outcome.js';
import { plot } from '../src/congestion/plot.js';
import { capacityAt, drawnPhases, durationMs, idealCalls, stepPhases } from '../src/congestion/profile.js';
import { markDistance } from '../src/report/svg.js';

const phases = stepPhases(2);
const middle = () => 0.5;

/** So many calls per second, evenly. */
function callEvenly(service: HiddenService, perSecond: number, forMs: number): ServiceReport {
  for (let n = 0; (n * 1000) / perSecond < forMs; n++) service.call((n * 1000) / perSecond);
  return service.report();
}

describe('bulk-action BA-3: the hidden service of the congestion bench', () => {
  it('bulk-action BA-3: takes what its capacity of the time allows and refuses the rest at once', () => {
    const service = new HiddenService({ kind: 'refusing', phases, workMs: 50 }, middle);
    const { accepted, refused, ticks, p99Ms } = callEvenly(service, 1000, durationMs(phases));
    expect(accepted).toBeGreaterThanOrEqual(idealCalls(phases) - 10);
    // The bucket was full at the beginning.
    expect(accepted).toBeLessThanOrEqual(idealCalls(phases) + 10);
    expect(accepted + refused).toBe(6000);
    expect(ticks.map(({ perSecond }) => perSecond)).toEqual([100, 40, 100].flatMap((c) => [c, c, c, c]));
    expect(p99Ms).toBe(50);
  });

  it('bulk-action BA-3: or lets them wait for everybody before them', () => {
    const service = new HiddenService({ kind: 'queueing', phases, workMs: 50 }, middle);
    expect(service.call(0)).toBe(60);
    expect(service.call(0)).toBe(70);
    expect(service.call(1000)).toBe(60);
    const { accepted, refused } = service.report();
    expect([accepted, refused]).toEqual([3, 0]);
  });

  it('bulk-action BA-3: counts nothing after its last phase', () => {
    const service = new HiddenService({ kind: 'refusing', phases, workMs: 50 }, middle);
    expect(service.call(durationMs(phases))).toBe(50);
    expect(service.report()).toMatchObject({ accepted: 0, ticks: [] });
  });

  it('bulk-action BA-3: profiles: the phase of a time, and what a caller who knew it would get done', () => {
    expect([0, 1999, 2000, 3999, 4000, 99_999].map((atMs) => capacityAt(phases, atMs))).toEqual([
      100, 100, 40, 40, 100, 100,
    ]);
    expect(idealCalls(phases)).toBe(480);
    const drawn = drawnPhases(seededRng('profile'), 2);
    expect(durationMs(drawn)).toBeCloseTo(60_000);
    for (const { seconds, perSecond } of drawn) {
      expect(seconds).toBeLessThanOrEqual(20);
      expect(perSecond).toBeGreaterThanOrEqual(20);
      expect(perSecond).toBeLessThanOrEqual(200);
    }
    expect(drawnPhases(seededRng('profile'), 2)).toEqual(drawn);
  });

  it('bulk-action BA-3: the comparators grow on success and shrink on refusal', () => {
    for (const control of [aimdAlone(), vegasAlone()]) {
      for (let n = 0; n < 100; n++) control.accepted(n, 10);
      const grown = control.limit;
      expect(grown, control.name).toBeGreaterThan(10);
      control.refused(5000, 4999);
      expect(control.limit, control.name).toBeLessThan(grown);
    }
    const queued = vegasAlone();
    for (let n = 0; n < 200; n++) queued.accepted(n, n === 0 ? 10 : 100);
    expect(queued.limit, 'nine tenths wait in the queue').toBeLessThan(10);
  });
});

describe('bulk-action BA-3: the plot of the congestion bench', () => {
  const options = { tickMs: 500, unit: 'per second' };

  it('bulk-action BA-3: is an SVG document with every title, name and line in it, dashes where asked', () => {
    const svg = plot(
      'one & two',
      [
        { title: 'first <panel>', lines: [{ name: 'a "line"', colour: '#06c', values: [0, 50, 100] }] },
        { title: 'second', lines: [{ name: 'b', colour: '#c00', values: [100, 0, 0], dashed: true }] },
      ],
      options,
    );
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]*>[\s\S]*<\/svg>\n$/);
    for (const text of [
      'one &amp; two',
      'first &lt;panel&gt;',
      'a &quot;line&quot;',
      'second',
      '0.5 s',
      '1 s',
    ])
      expect(svg).toContain(text);
    expect(svg.match(/<path /g)).toHaveLength(2);
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    // Every tag that is opened is closed.
    expect(svg.match(/<g /g)?.length).toBe(svg.match(/<\/g>/g)?.length);
    expect(svg.match(/<text/g)?.length).toBe(svg.match(/<\/text>/g)?.length);
    expect(svg).not.toContain('NaN');
    expect(svg).not.toContain('Infinity');
  });

  it('bulk-action BA-3: a higher value is drawn higher, one above the most at the top, and no limit breaks the line', () => {
    const values = [0, 50, Number.NaN, 100, 1_000_000];
    const svg = plot('t', [{ title: 'p', lines: [{ name: 'l', colour: 'red', values }] }], {
      ...options,
      most: 100,
    });
    const path = svg.match(/<path d="([^"]*)"/)?.[1] ?? '';
    expect(path.match(/M/g), 'two pieces').toHaveLength(2);
    const heights = [...path.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
    expect(heights).toEqual([150, 75, 0, 0]);
  });

  it('bulk-action BA-3: draws nothing but axes when nothing was measured', () => {
    const svg = plot('t', [{ title: 'p', lines: [{ name: 'l', colour: 'red', values: [] }] }], options);
    expect(svg).toContain('<path d=""');
    expect(svg).not.toContain('NaN');
  });

  it('bulk-action BA-3: axis marks are round and few', () => {
    expect([0.9, 7, 40, 103, 210, 4000].map((highest) => markDistance(highest, 5))).toEqual([
      0.2, 2, 10, 50, 50, 1000,
    ]);
  });
});

describe('bulk-action BA-3: the outcome of the congestion bench', () => {
  const report: ServiceReport = {
    ticks: [
      { accepted: 50, refused: 0, perSecond: 100 },
      { accepted: 40, refused: 10, perSecond: 100 },
    ],
    accepted: 456,
    refused: 24,
    p99Ms: 61.4,
  };
  const outcomes = ['ours', 'AIMD alone', 'Vegas alone'].map((controller) => ({
    controller,
    report,
    limits: [Number.NaN, 97, 98],
    limitUnit: 'per second',
  }));

  it('bulk-action BA-3: scores by the count of the service', () => {
    expect(scoreOf(report, phases)).toEqual({ goodput: 0.95, refused: 0.05, p99Ms: 61.4 });
    expect(scoreOf({ ...report, accepted: 0, refused: 0 }, phases)).toMatchObject({ goodput: 0, refused: 0 });
  });

  it('bulk-action BA-3: prints a line and draws a panel for each controller', () => {
    const table = outcomeTable(outcomes, phases);
    expect(table).toMatch(/AIMD alone .*95\.0 %.*5\.0 %.*61 ms/);
    const svg = outcomePlot('hidden capacity', outcomes);
    expect(svg.match(/<path /g)).toHaveLength(12);
    for (const name of ['ours', 'AIMD alone', 'Vegas alone', 'goodput', 'capacity', 'limit (per second)'])
      expect(svg).toContain(name);
  });
});
