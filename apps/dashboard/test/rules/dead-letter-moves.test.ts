import { DEAD_LETTER_IDS_MAX } from '@millrace/contract';
import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import {
  changedText,
  LETTER_IDS_MAX,
  movedText,
  moveFailure,
  moveQuestion,
  uncertainText,
} from '../../src/rules/dead-letter-moves.js';

describe('moving dead letters', () => {
  it('asks with their number, and says what happens', () => {
    expect(moveQuestion('redrive', 2_000)).toEqual({
      title: 'Redrive 2,000 dead letters?',
      confirm: 'Redrive 2,000',
      consequence: 'They go back to the queue with fresh tries. Groups that have ended open another round.',
    });
    expect(moveQuestion('purge', 1)).toMatchObject({
      title: 'Purge 1 dead letter?',
      confirm: 'Purge 1',
      consequence: expect.stringContaining('gone for good'),
    });
  });

  it('says how many it were, and how many were no longer there', () => {
    expect(movedText('redrive', 2_000, 2_000)).toBe('2,000 dead letters went back to the queue.');
    expect(movedText('purge', 1, 1)).toBe('1 dead letter is gone for good.');
    expect(movedText('purge', 2, 3)).toBe('2 dead letters are gone for good. 1 was no longer there.');
  });

  it('says that the number is another', () => {
    expect(changedText(3, 2)).toBe('There are now 3, not 2. Nothing was moved.');
    expect(changedText(1, 2)).toBe('There is now 1, not 2. Nothing was moved.');
    expect(changedText(2, 2)).toBe('Their number is changing. Nothing was moved.');
    expect(changedText(0, 2)).toBe('None of them is there any more. Nothing was moved.');
  });

  it('knows whether something may have happened', () => {
    const failed = (status: number, code: string) =>
      new ProblemError({ type: '', title: '', status, detail: '', code, retryable: false });
    expect(moveFailure(failed(409, 'COUNT_CHANGED'))).toBe('changed');
    expect(moveFailure(failed(403, 'FORBIDDEN'))).toBe('refused');
    expect(moveFailure(failed(503, 'AUDIT_UNAVAILABLE'))).toBe('refused');
    expect(moveFailure(failed(503, 'BACKEND_UNAVAILABLE'))).toBe('unknown');
    expect(moveFailure(new TypeError('fetch failed'))).toBe('unknown');
    expect(uncertainText('Nobody answers.')).toBe('Nobody answers. Some may have been moved.');
  });

  it('names as many as one request takes', () => expect(LETTER_IDS_MAX).toBe(DEAD_LETTER_IDS_MAX));
});
