import { expect, it } from 'vitest';
import {
  BARS,
  byHolding,
  pointEverySeconds,
  type Resource,
  refusalBars,
  resourceLines,
  resourceMark,
  spanAt,
} from '../../src/rules/congestion-lines.js';

type Point = Resource['history'][number];

/** Seconds since 1970 that divide by everything used here. */
const START = 1_800_000_000;

const point = (seconds: number, change: Partial<Point> = {}): Point => ({
  at: new Date((START + seconds) * 1000).toISOString(),
  rate: 10,
  limit: null,
  concurrency: null,
  throttles: 0,
  ...change,
});

const service = (resource: string, change: Partial<Resource> = {}): Resource => ({
  resource,
  rate: 3,
  limit: null,
  concurrency: null,
  frozenForMs: 0,
  starts: 1,
  throttles: 0,
  throttlesPerJob: 0,
  history: [],
  ...change,
});

it('draws a time without points as a time without calls, and ends with what is now', () => {
  const history = [point(0), point(5, { rate: 12, limit: 20 }), point(60, { limit: 22 })];
  const lines = resourceLines(service('s', { history, limit: 25 }), {
    from: START,
    now: START + 63,
    every: 5,
  });
  expect(lines.times.map((time) => Math.round((time - START) * 1000))).toEqual([
    0, 5_000, 11_000, 59_999, 60_000, 63_000,
  ]);
  expect(lines.rate).toEqual([10, 12, 0, 0, 10, 3]);
  expect(lines.limit).toEqual([null, 20, 20, 20, 22, 25]);
});

it('begins with the last point before the time that is drawn, and never goes backwards', () => {
  const history = [point(0), point(5), point(10, { limit: 7 }), point(8), point(15), point(900)];
  const lines = resourceLines(service('s', { history }), { from: START + 12, now: START + 20, every: 5 });
  expect(lines.times.map((time) => time - START)).toEqual([10, 15, 20]);
  expect(lines.limit).toEqual([7, null, null]);
  // Without two points nobody knows how often they come: nothing is made up between.
  const alone = resourceLines(service('s', { history: [point(0)] }), {
    from: START,
    now: START + 100,
    every: undefined,
  });
  expect(alone.rate).toEqual([10, 3]);
});

it('knows how often points come from those that came', () => {
  const far = service('far', { history: [point(0), point(300)] });
  expect(pointEverySeconds([service('none'), far])).toBe(300);
  expect(
    pointEverySeconds([far, service('near', { history: [point(0), point(5), point(5), point(11)] })]),
  ).toBe(5);
  expect(pointEverySeconds([service('none')])).toBeUndefined();
});

it('counts refusals in bars that stand still while time goes on', () => {
  const history = [
    point(-1_000, { throttles: 9 }),
    point(1, { throttles: 2 }),
    point(9, { throttles: 1 }),
    point(12, { throttles: 4 }),
  ];
  const span = spanAt(START + 15, 15);
  expect(spanAt(START + 19, 15)).toEqual(span);
  expect(span).toEqual([START + 20 - 900, START + 20]);
  const { times, counts, widthMs } = refusalBars(history, span);
  expect(counts).toHaveLength(BARS);
  expect(counts.slice(-3)).toEqual([0, 3, 4]);
  expect(counts.reduce((sum, count) => sum + count)).toBe(7);
  expect(times.at(-1)).toBe(START + 15);
  expect(widthMs).toBe(10_000);
});

it('puts those that hold somebody back first', () => {
  const sorted = byHolding([
    service('quiet-10'),
    service('quiet-2'),
    service('z-limited', { limit: 5 }),
    service('refused-once', { throttles: 1 }),
    service('a-frozen', { frozenForMs: 100 }),
  ]);
  expect(sorted.map(({ resource }) => resource)).toEqual([
    'a-frozen',
    'z-limited',
    'refused-once',
    'quiet-2',
    'quiet-10',
  ]);
});

it('says what a service does to those who call it', () => {
  expect(resourceMark({ limit: 5, throttles: 1 }, 2_400)).toEqual({
    text: 'Not called for 2.4 s',
    tone: 'hold',
  });
  expect(resourceMark({ limit: 5, throttles: 1 }, 0)).toEqual({ text: 'Held to 5.0/s', tone: 'hold' });
  expect(resourceMark({ limit: null, throttles: 1 }, 0).text).toBe('No limit now');
  expect(resourceMark({ limit: null, throttles: 0 }, 0).text).toBe('Has refused nothing');
});
