import { PAGE_SIZE_MAX } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import {
  CAUSES_MAX,
  causeName,
  causeParts,
  causeShare,
  failuresOf,
  failuresText,
} from '../../src/rules/causes.js';

const many = (length: number) => Array.from({ length }, () => ({ count: 10 }));

describe('failures by cause', () => {
  it('says that many failures are few errors', () => {
    expect(failuresText([{ count: 1_500 }, { count: 400 }, { count: 100 }])).toBe(
      '2,000 failures are 3 errors',
    );
    expect(failuresText([{ count: 2 }])).toBe('2 failures are 1 error');
    expect(failuresText([{ count: 1 }])).toBe('1 failure is 1 error');
  });

  it('does not count what the server has not told', () => {
    expect(CAUSES_MAX).toBe(PAGE_SIZE_MAX);
    expect(failuresOf(many(CAUSES_MAX - 1))).toBe(1_990);
    expect(failuresOf(many(CAUSES_MAX))).toBeUndefined();
    expect(failuresText(many(CAUSES_MAX))).toBe('Failures of 200 errors or more');
    expect(failuresText(many(CAUSES_MAX), 5_000)).toBe('5,000 failures are 200 errors or more');
  });

  it('has shares between nothing and all', () => {
    expect(causeShare(5, 20)).toBe(0.25);
    expect(causeShare(5, 0)).toBe(0);
    // Counted at two moments.
    expect(causeShare(5, 4)).toBe(1);
  });
});

describe('a signature', () => {
  it('is taken apart into type, code and message', () => {
    const signature = 'mail.send CARD_EXPIRED The card of # has expired';
    expect(causeParts({ signature, processorType: 'mail.send', code: 'CARD_EXPIRED' })).toEqual({
      processorType: 'mail.send',
      code: 'CARD_EXPIRED',
      message: 'The card of # has expired',
    });
  });

  it('is one message where its beginning is another', () => {
    const signature = 'mail.send CARD_EXP';
    const known = { processorType: 'mail.send', code: 'CARD_EXPIRED' };
    expect(causeParts({ signature, ...known })).toEqual({ ...known, message: signature });
    expect(causeParts({ signature }).message).toBe(signature);
    expect(causeParts({ signature: 'undefined undefined x' }).message).toBe('undefined undefined x');
  });

  it('is called by its code, or by what it says, in few words', () => {
    const parts = { processorType: 'mail.send', code: 'BAD', message: 'x'.repeat(10_000) };
    expect(causeName(parts)).toBe('BAD');
    expect(causeName({ ...parts, code: undefined })).toBe(`${'x'.repeat(80)}…`);
  });

  it('says the code where there is no message', () => {
    expect(causeParts({ signature: 'mail.send BAD', processorType: 'mail.send', code: 'BAD' }).message).toBe(
      'BAD',
    );
  });
});
