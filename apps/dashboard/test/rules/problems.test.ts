import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import { isLockedOut, isNotFound, isRefusal, problemCode, problemText } from '../../src/rules/problems.js';

const invalid = (errors?: { field: string; message: string }[]) =>
  new ProblemError({
    type: 'urn:millrace:error:REQUEST_INVALID',
    title: 'Request invalid',
    status: 400,
    detail: 'The request is not what this route takes',
    code: 'REQUEST_INVALID',
    retryable: false,
    ...(errors && { errors }),
  });

describe('the text of a failed call', () => {
  it('is the message of the server, or the messages of the fields', () => {
    expect(problemText(invalid())).toBe('The request is not what this route takes');
    const errors = [
      { field: 'weight', message: 'must be positive' },
      { field: '', message: 'must change something' },
    ];
    expect(problemText(invalid(errors))).toBe('weight must be positive; must change something');
    expect(problemCode(invalid())).toBe('REQUEST_INVALID');
  });

  it('names an unreachable server in the same words for every browser', () => {
    for (const error of [new TypeError('Failed to fetch'), new DOMException('late', 'TimeoutError')])
      expect(problemText(error)).toContain('does not answer');
    expect(problemText('odd')).toBe('odd');
    expect(problemText(new Error('other'))).toBe('other');
    expect(problemCode(new Error('other'))).toBeUndefined();
  });
});

const refused = (status: number) =>
  new ProblemError({ type: 'about:blank', title: '', status, detail: '', code: 'ODD', retryable: false });
const STATUSES = [400, 401, 403, 404, 409, 429, 500, 503];
const matches = (rule: (error: unknown) => boolean) => STATUSES.filter((status) => rule(refused(status)));

describe('the kind of a refusal', () => {
  it('is final for 4xx except 429', () => expect(matches(isRefusal)).toEqual([400, 401, 403, 404, 409]));

  it('is a rejected key for 401 and 403', () => expect(matches(isLockedOut)).toEqual([401, 403]));

  it('is a missing subject for 404', () => expect(matches(isNotFound)).toEqual([404]));

  it('is none without an answer', () => {
    for (const rule of [isRefusal, isLockedOut, isNotFound])
      for (const error of [null, undefined, new TypeError('Failed to fetch')])
        expect(rule(error)).toBe(false);
  });
});
