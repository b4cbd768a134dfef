import { expect, it } from 'vitest';
import { estimatedMs, withDuration } from '../src/operations.js';

it('orchestrator FR-5: estimates durations by the slow ones of the last 64', () => {
  expect(estimatedMs(undefined, 777)).toBe(777);
  let recent: readonly number[] | undefined;
  for (let duration = 1; duration <= 1_000; duration++) recent = withDuration(recent, duration);
  expect(recent).toHaveLength(64);
  expect(estimatedMs(recent, 777)).toBe(994);
});
