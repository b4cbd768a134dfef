import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyPreference,
  type Preferences,
  parsePrefer,
  retryAfterSeconds,
  secondsToMs,
} from '../../src/rules/prefer.js';

const RANGE = { minMs: 50, maxMs: 5_000 };
const preferring = (waitMs?: number, respondAsync = false): Preferences => ({ waitMs, respondAsync });

describe('orchestrator FR-5: the header Prefer (RFC 7240)', () => {
  it.each<[string | undefined, Preferences]>([
    [undefined, preferring()],
    ['', preferring()],
    ['wait=1', preferring(1_000)],
    ['wait=0', preferring(0)],
    ['wait=0.25', preferring(250)],
    ['wait="2"', preferring(2_000)],
    ['WAIT = 3', preferring(3_000)],
    ['respond-async', preferring(undefined, true)],
    ['Respond-Async, wait=10', preferring(10_000, true)],
    ['wait=10,respond-async', preferring(10_000, true)],
    ['respond-async; a=b; c, wait=1; x="y,z"', preferring(1_000, true)],
    ['respond-async=""', preferring(undefined, true)],
    ['respond-async=yes', preferring()],
    ['wait=1, wait=2', preferring(1_000)],
    ['wait=x, wait=2', preferring()],
    ['foo="a, wait=9", wait=2', preferring(2_000)],
    ['foo="a\\", wait=9", wait=2', preferring(2_000)],
    ['return=minimal, handling=lenient', preferring()],
    ['wait=-1', preferring()],
    ['wait=1e3', preferring()],
    ['wait=1s', preferring()],
    ['wait 5', preferring()],
    ['wait=', preferring()],
    ['=5, ;, ,,, wait=4', preferring(4_000)],
    ['foo="never closed, wait=9', preferring(9_000)],
  ])('%j', (header, expected) => {
    expect(parsePrefer(header)).toEqual(expected);
  });

  it('orchestrator FR-5: parses any text in little time', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (header) => {
        const { waitMs } = parsePrefer(header);
        expect(waitMs === undefined || waitMs >= 0).toBe(true);
      }),
    );
    for (const hostile of [
      '"'.repeat(100_000),
      'a="\\'.repeat(50_000),
      ','.repeat(100_000),
      'wait=1;'.repeat(9_999),
    ])
      parsePrefer(hostile);
  });

  it('orchestrator FR-5: finds a preference among others and in any case', () => {
    const seconds = fc.integer({ min: 0, max: 10_000 });
    const others = fc.array(fc.constantFrom('return=minimal', 'a="x,y"', 'b; c=d', 'handling=strict'));
    fc.assert(
      fc.property(seconds, others, others, fc.boolean(), (wait, before, after, isAsync) => {
        const own = [`Wait=${wait}`, ...(isAsync ? ['RESPOND-async'] : [])];
        expect(parsePrefer([...before, ...own, ...after].join(', '))).toEqual(
          preferring(wait * 1_000, isAsync),
        );
      }),
    );
  });
});

describe('orchestrator FR-5: the effect of a preference', () => {
  it.each<[string, Preferences, number | undefined, string | undefined, string | undefined]>([
    ['nothing', preferring(), undefined, undefined, undefined],
    ['a wait in range', preferring(1_000), 1_000, 'wait=1', 'wait=1'],
    ['one too long', preferring(60_000), 5_000, 'wait=5', 'wait=5'],
    ['one too short', preferring(0), 50, 'wait=0.05', 'wait=0.05'],
    ['respond-async', preferring(undefined, true), 50, undefined, 'respond-async'],
    ['both', preferring(2_000, true), 2_000, 'wait=2', 'respond-async, wait=2'],
  ])('%s', (_, preferences, budgetMs, withOutcome, withUrl) => {
    const result = applyPreference(preferences, RANGE);
    expect(result.budgetMs).toBe(budgetMs);
    expect(result.applied('outcome')).toBe(withOutcome);
    expect(result.applied('status-url')).toBe(withUrl);
  });

  it('orchestrator FR-5: the budget is always in range, and the header echoes it', () => {
    fc.assert(
      fc.property(fc.option(fc.nat(10_000_000), { nil: undefined }), fc.boolean(), (waitMs, isAsync) => {
        const { budgetMs, applied } = applyPreference({ waitMs, respondAsync: isAsync }, RANGE);
        if (waitMs === undefined && !isAsync) {
          expect(budgetMs).toBeUndefined();
          return;
        }
        expect(budgetMs).toBeGreaterThanOrEqual(RANGE.minMs);
        expect(budgetMs).toBeLessThanOrEqual(RANGE.maxMs);
        const echoed = parsePrefer(applied('status-url'));
        expect(echoed.respondAsync).toBe(isAsync);
        if (waitMs !== undefined) expect(echoed.waitMs).toBeCloseTo(budgetMs as number, 6);
      }),
    );
  });
});

it('orchestrator FR-5: parses seconds, and writes Retry-After', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['30', 30_000],
    ['0.5', 500],
    ['', undefined],
    ['-1', undefined],
    ['1 ', undefined],
  ] as const)
    expect(secondsToMs(text)).toBe(ms);
  expect(secondsToMs('9'.repeat(400))).toBeUndefined();
  for (const [ms, seconds] of [
    [0, '1'],
    [1, '1'],
    [1_000, '1'],
    [1_001, '2'],
    [90_000, '90'],
  ] as const)
    expect(retryAfterSeconds(ms)).toBe(seconds);
});
