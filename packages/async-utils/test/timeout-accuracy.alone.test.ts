import { expect, it } from 'vitest';
import { isTimeoutError, timeout } from '../src/index.js';

const ROUNDS = 20;
const LIMIT_MS = 100;
const TOLERANCE_MS = 50;

// The one test in real time; it runs alone, and the median keeps a single hiccup of the machine out of the verdict.
it(`async-utils SC-004: fires within ±${TOLERANCE_MS} ms of the set time (median of ${ROUNDS})`, async () => {
  const errors: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    const failure = await timeout(new Promise(() => {}), LIMIT_MS).catch((error: unknown) => error);
    errors.push(Math.abs(performance.now() - startedAt - LIMIT_MS));
    expect(isTimeoutError(failure)).toBe(true);
  }
  errors.sort((a, b) => a - b);
  expect(errors[ROUNDS / 2]).toBeLessThanOrEqual(TOLERANCE_MS);
});
