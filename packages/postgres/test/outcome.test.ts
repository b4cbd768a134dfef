import { describe, expect, it } from 'vitest';
import { judgeOutcome } from '../src/outcome.js';

describe('judgeOutcome', () => {
  it.each([
    ['committed', true, 'committed'],
    ['aborted', true, 'aborted'],
    ['in progress', true, 'in progress'],
    [null, true, 'unknown'],
    ['committed', false, 'unknown'],
    ['aborted', false, 'aborted'],
    ['in progress', false, 'aborted'],
    [null, false, 'unknown'],
  ] as const)('%s, the same life of the server: %s, means %s', (status, isSameLife, outcome) => {
    expect(judgeOutcome(status, isSameLife)).toBe(outcome);
  });
});
