import { ProblemError } from '@millrace/contract/server-client';
import { describe, expect, it } from 'vitest';
import { problemCode, problemText } from '../../src/rules/problem-text.js';

const problem = (errors?: { field: string; message: string }[]) =>
  new ProblemError({
    type: 'urn:millrace:error:REQUEST_INVALID',
    title: 'Request invalid',
    status: 400,
    detail: 'The request is not what this route takes',
    code: 'REQUEST_INVALID',
    retryable: false,
    ...(errors && { errors }),
  });

describe('what went wrong', () => {
  it('is what the server says, field by field where it says so', () => {
    expect(problemText(problem())).toBe('The request is not what this route takes');
    const errors = [
      { field: 'weight', message: 'must be positive' },
      { field: '', message: 'must change something' },
    ];
    expect(problemText(problem(errors))).toBe('weight must be positive; must change something');
    expect(problemCode(problem())).toBe('REQUEST_INVALID');
  });

  it('is that nobody answered, whatever the browser calls it', () => {
    for (const error of [new TypeError('Failed to fetch'), new DOMException('late', 'TimeoutError')])
      expect(problemText(error)).toContain('does not answer');
    expect(problemText('odd')).toBe('odd');
    expect(problemText(new Error('other'))).toBe('other');
    expect(problemCode(new Error('other'))).toBeUndefined();
  });
});
