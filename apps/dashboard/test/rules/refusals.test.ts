import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import { isLockedOut, isNotFound, isRefusal } from '../../src/rules/refusals.js';

const problem = (status: number) =>
  new ProblemError({ type: 'about:blank', title: '', status, detail: '', code: 'ODD', retryable: false });
const STATUSES = [400, 401, 403, 404, 409, 429, 500, 503];
const those = (rule: (error: unknown) => boolean) => STATUSES.filter((status) => rule(problem(status)));

describe('what it means that a server refuses', () => {
  it('is that it would refuse again, unless it asks for patience or is not well', () =>
    expect(those(isRefusal)).toEqual([400, 401, 403, 404, 409]));

  it('is that the caller is not let in', () => expect(those(isLockedOut)).toEqual([401, 403]));

  it('is that there is no such thing', () => expect(those(isNotFound)).toEqual([404]));

  it('is nothing where nobody has answered', () => {
    for (const rule of [isRefusal, isLockedOut, isNotFound])
      for (const error of [null, undefined, new TypeError('Failed to fetch')])
        expect(rule(error)).toBe(false);
  });
});
