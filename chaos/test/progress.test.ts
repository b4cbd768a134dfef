import { describe, expect, it } from 'vitest';
import { Progress } from '../src/progress.js';

/** What is seen after a scenario that held and one that did not. */
function seen(isTTY: boolean): string {
  let text = '';
  const progress = new Progress({ isTTY, write: (more) => (text += more) });
  const outcome = { seed: 1, scale: 1, durationMs: 1 };
  progress.begins('calm', 1, 2);
  progress.ended({ ...outcome, scenario: 'calm', verdicts: [{ invariant: 'I1', held: true, evidence: '' }] });
  progress.begins('wild', 2, 2);
  progress.ended({
    ...outcome,
    scenario: 'wild',
    verdicts: [{ invariant: 'I2', held: false, evidence: '' }],
  });
  return text;
}

describe('what is said while scenarios are played', () => {
  it('is a line each in a file, and what broke', () => {
    expect(seen(false)).toBe('1 of 2: calm\n2 of 2: wild\nwild: NOT HELD: I2\n');
  });

  it('is one line that is written over in a terminal; what broke stays', () => {
    const [calm, wild] = ['1 of 2: calm …', '2 of 2: wild …'];
    const clear = '\r\u001B[K';
    expect(seen(true)).toBe(`${clear}${calm}${clear}${clear}${wild}${clear}wild: NOT HELD: I2\n`);
  });
});
