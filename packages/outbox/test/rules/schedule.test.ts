import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronPeriods, timingProblem } from '../../src/cron-periods.js';
import {
  type CatchUp,
  SCHEDULE_CATCH_UP_MAX,
  SCHEDULE_LATE_MAX_MS,
  type ScheduleTurn,
  scheduleTurn,
} from '../../src/rules/schedule.js';

const at = (iso: string): number => Date.parse(iso);
const shown = (ms: readonly number[]): string[] => ms.map((one) => new Date(one).toISOString().slice(0, 19));

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;

/** What the clocks of a zone show, as if it were UTC. They change at full quarters of an hour only. */
function wallClock(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' },
  });
  const offsets = new Map<number, number>();
  return (ms) => {
    const quarter = ms - (ms % QUARTER_MS);
    let offset = offsets.get(quarter);
    if (offset === undefined) {
      const parts = format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)] as const);
      const { year, month, day, hour, minute } = Object.fromEntries(parts) as Record<string, number>;
      offset = Date.UTC(year as number, (month as number) - 1, day, hour, minute) - quarter;
      offsets.set(quarter, offset);
    }
    return ms + offset;
  };
}

/** A cron, and what it means in words of minutes and hours. */
interface Timetable {
  readonly cron: string;
  /** One time of day, instead of a step, list or range. */
  readonly isFixed: boolean;
  readonly hours: readonly number[];
  readonly minutes: readonly number[];
}

/** Every minute is looked at: what do the clocks show then? */
function bruteForce(
  { isFixed, hours, minutes }: Timetable,
  timeZone: string,
  fromMs: number,
  untilMs: number,
): number[] {
  const found: number[] = [];
  const shownAt = wallClock(timeZone);
  const [hour = 0] = hours;
  const [minute = 0] = minutes;
  let day = -1;
  const begin = fromMs - 2 * 86_400_000;
  for (let ms = begin - (begin % MINUTE_MS); ms <= untilMs; ms += MINUTE_MS) {
    const wall = new Date(shownAt(ms));
    const isDue = isFixed
      ? // Once a day, as soon as the clocks have reached it.
        wall.getUTCDate() !== day && wall.getUTCHours() * 60 + wall.getUTCMinutes() >= hour * 60 + minute
      : hours.includes(wall.getUTCHours()) && minutes.includes(wall.getUTCMinutes());
    if (!isDue) continue;
    day = wall.getUTCDate();
    if (ms >= fromMs) found.push(ms);
  }
  return found;
}

/** Turns one after the other until nothing is due. */
function settle(
  cron: string,
  timeZone: string,
  catchUp: CatchUp,
  firstMs: number,
  nowMs: number,
): { periods: number[]; nextMs: number | undefined; turns: number } {
  const periods: number[] = [];
  let nextMs: number | undefined = firstMs;
  let turns = 0;
  while (nextMs !== undefined && nextMs <= nowMs) {
    const turn: ScheduleTurn = scheduleTurn({
      periods: cronPeriods({ cron, timeZone }),
      catchUp,
      nextMs,
      nowMs,
    });
    expect(turn.due.length).toBeLessThanOrEqual(SCHEDULE_CATCH_UP_MAX);
    expect(turn.nextMs === undefined || turn.nextMs > nextMs).toBe(true);
    periods.push(...turn.due);
    nextMs = turn.nextMs;
    turns++;
  }
  return { periods, nextMs, turns };
}

/** Both changes of the clocks of both zones are near these. */
const CHANGES = [
  '2026-03-29T01:00:00Z',
  '2026-10-25T01:00:00Z',
  '2026-03-08T07:00:00Z',
  '2026-11-01T06:00:00Z',
];
const zones = fc.constantFrom(
  'Europe/Berlin',
  'America/New_York',
  'UTC',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
);
const everyHour = Array.from({ length: 24 }, (_, hour) => hour);
const timetables = fc.constantFrom<Timetable>(
  { cron: '30 2 * * *', isFixed: true, hours: [2], minutes: [30] },
  { cron: '0 2 * * *', isFixed: true, hours: [2], minutes: [0] },
  { cron: '0 45 1 * * *', isFixed: true, hours: [1], minutes: [45] },
  { cron: '@daily', isFixed: true, hours: [0], minutes: [0] },
  { cron: '*/20 * * * *', isFixed: false, hours: everyHour, minutes: [0, 20, 40] },
  { cron: '15,45 1-3 * * *', isFixed: false, hours: [1, 2, 3], minutes: [15, 45] },
  { cron: '0 */3 * * *', isFixed: false, hours: [0, 3, 6, 9, 12, 15, 18, 21], minutes: [0] },
);

describe('outbox: what a schedule does now', () => {
  it('outbox: schedules: each policy takes what looking at every minute says, over changes of the clocks and any downtime', () => {
    fc.assert(
      fc.property(
        timetables,
        zones,
        fc.constantFrom(...CHANGES),
        fc.integer({ min: -36 * 3_600, max: 12 * 3_600 }),
        fc.integer({ min: 0, max: 36 * 3_600_000 }),
        (timetable, timeZone, change, offsetS, downMs) => {
          const { cron } = timetable;
          const fromMs = at(change) + offsetS * 1_000;
          const firstMs = cronPeriods({ cron, timeZone }).after(fromMs) as number;
          const nowMs = firstMs + downMs;
          const due = bruteForce(timetable, timeZone, fromMs + 1, nowMs);
          const next = cronPeriods({ cron, timeZone }).after(nowMs);
          expect(due[0]).toBe(firstMs);
          expect(next).toBeGreaterThan(nowMs);

          const all = settle(cron, timeZone, 'all', firstMs, nowMs);
          expect(shown(all.periods)).toEqual(shown(due));
          expect(all.turns).toBe(Math.ceil(due.length / SCHEDULE_CATCH_UP_MAX));
          const one = settle(cron, timeZone, 'one', firstMs, nowMs);
          expect(shown(one.periods)).toEqual(shown(due.slice(-1)));
          const none = settle(cron, timeZone, 'none', firstMs, nowMs);
          const isLate = nowMs - (due.at(-1) as number) > SCHEDULE_LATE_MAX_MS;
          expect(shown(none.periods)).toEqual(isLate ? [] : shown(due.slice(-1)));
          expect([all.nextMs, one.nextMs, none.nextMs]).toEqual([next, next, next]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('outbox: schedules: before it is due, and when nothing ever comes again, nothing happens', () => {
    const state = { periods: cronPeriods({ cron: '0 0 * * *', timeZone: 'UTC' }), catchUp: 'all' } as const;
    const nextMs = at('2026-06-02T00:00:00Z');
    expect(scheduleTurn({ ...state, nextMs, nowMs: nextMs - 1 })).toEqual({ due: [], nextMs });
    expect(scheduleTurn({ ...state, nextMs, nowMs: nextMs })).toEqual({
      due: [nextMs],
      nextMs: at('2026-06-03T00:00:00Z'),
    });
    expect(scheduleTurn({ ...state, nextMs: undefined, nowMs: nextMs }).due).toEqual([]);
  });

  it.each(['one', 'all', 'none'] as const)(
    'outbox: schedules: the last period of all is taken and nothing follows (%s)',
    (catchUp) => {
      const timing = { cron: '0 0 12 1 6 * 2026', timeZone: 'Europe/Berlin' };
      const last = at('2026-06-01T10:00:00Z');
      expect(cronPeriods(timing).after(at('2026-01-01T00:00:00Z'))).toBe(last);
      expect(
        scheduleTurn({ periods: cronPeriods(timing), catchUp, nextMs: last, nowMs: last + 5_000 }),
      ).toEqual({
        due: [last],
        nextMs: undefined,
      });
      expect(cronPeriods(timing).after(last)).toBeUndefined();
    },
  );

  it('outbox: schedules: a year of missed seconds costs one turn with `one`, and `all` takes a bounded number', () => {
    const nextMs = at('2026-01-01T00:00:00Z');
    const state = {
      periods: cronPeriods({ cron: '* * * * * *', timeZone: 'Europe/Berlin' }),
      nextMs,
      nowMs: at('2027-01-01T00:00:00.700Z'),
    };
    expect(scheduleTurn({ ...state, catchUp: 'one' })).toEqual({
      due: [at('2027-01-01T00:00:00Z')],
      nextMs: at('2027-01-01T00:00:01Z'),
    });
    const { due, nextMs: rest } = scheduleTurn({ ...state, catchUp: 'all' });
    expect(due).toHaveLength(SCHEDULE_CATCH_UP_MAX);
    expect(rest).toBe(nextMs + SCHEDULE_CATCH_UP_MAX * 1_000);
  });
});

describe('outbox: schedules over changes of the clocks', () => {
  const days = (cron: string, timeZone: string, from: string, until: string) =>
    shown(
      settle(cron, timeZone, 'all', cronPeriods({ cron, timeZone }).after(at(from)) as number, at(until))
        .periods,
    );

  it('outbox: schedules: a fixed time of day runs once a day where the clocks skip it', () => {
    expect(days('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', '2026-03-30T12:00:00Z')).toEqual([
      '2026-03-28T01:30:00',
      '2026-03-29T01:00:00',
      '2026-03-30T00:30:00',
    ]);
    expect(days('30 2 * * *', 'America/New_York', '2026-03-07T06:00:00Z', '2026-03-09T12:00:00Z')).toEqual([
      '2026-03-07T07:30:00',
      '2026-03-08T07:00:00',
      '2026-03-09T06:30:00',
    ]);
  });

  it('outbox: schedules: a fixed time of day runs once a day where the clocks show it twice', () => {
    expect(days('30 2 * * *', 'Europe/Berlin', '2026-10-24T00:00:00Z', '2026-10-26T12:00:00Z')).toEqual([
      '2026-10-24T00:30:00',
      '2026-10-25T00:30:00',
      '2026-10-26T01:30:00',
    ]);
    expect(days('30 1 * * *', 'America/New_York', '2026-10-31T00:00:00Z', '2026-11-02T12:00:00Z')).toEqual([
      '2026-10-31T05:30:00',
      '2026-11-01T05:30:00',
      '2026-11-02T06:30:00',
    ]);
  });

  it('outbox: schedules: an even step stays even through both changes', () => {
    for (const [zone, change] of [
      ['Europe/Berlin', CHANGES[0]],
      ['Europe/Berlin', CHANGES[1]],
      ['America/New_York', CHANGES[2]],
      ['America/New_York', CHANGES[3]],
    ] as const) {
      const middle = at(change as string);
      const first = middle - 3 * 3_600_000;
      const { periods } = settle('*/30 * * * *', zone, 'all', first, middle + 3 * 3_600_000);
      expect(periods).toEqual(Array.from({ length: 13 }, (_, n) => first + n * 1_800_000));
    }
  });
});

describe('outbox: what can be a schedule', () => {
  it.each([
    ['* * * * *', 'UTC'],
    ['*/5 * * * * *', 'Europe/Berlin'],
    ['@daily', 'America/New_York'],
    ['0 0 29 2 *', 'UTC'],
  ])('outbox: schedules: %s in %s can be used', (cron, timeZone) => {
    expect(timingProblem(cron, timeZone)).toBeUndefined();
  });

  it.each([
    ['', 'UTC', 'no expression'],
    ['61 * * * *', 'UTC', 'no expression'],
    ['* * *', 'UTC', 'no expression'],
    ['@reboot', 'UTC', 'no expression'],
    ['2030-01-01T00:00:00', 'UTC', 'one point in time'],
    ['* '.repeat(200), 'UTC', '200 characters'],
    [undefined, 'UTC', '200 characters'],
    ['* * * * *', '', 'timeZone'],
    ['* * * * *', 'Europe/Atlantis', 'timeZone'],
    ['* * * * *', 5, 'timeZone'],
    ['* * * * *', 'x'.repeat(5_000), 'timeZone'],
  ])('outbox: schedules: %j in %j is refused', (cron, timeZone, why) => {
    expect(timingProblem(cron, timeZone)).toContain(why);
  });
});
