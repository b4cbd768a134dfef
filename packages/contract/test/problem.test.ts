import { describe, expect, it } from 'vitest';
import { Problem, toProblem } from '../src/index.js';

const ours = (more: object = {}) =>
  Object.assign(new Error('There is no operation 7'), {
    code: 'OPERATION_NOT_FOUND',
    status: 404,
    retryable: false,
    ...more,
  });

describe('orchestrator FR-5: errors as RFC 9457 problems', () => {
  it('orchestrator FR-5: one of ours is told as it is', () => {
    const problem = toProblem(ours(), { instance: '/api/operations/7/status' });
    expect(problem).toEqual({
      type: 'urn:millrace:error:OPERATION_NOT_FOUND',
      title: 'Operation not found',
      status: 404,
      detail: 'There is no operation 7',
      instance: '/api/operations/7/status',
      code: 'OPERATION_NOT_FOUND',
      retryable: false,
    });
    expect(Problem.parse(problem)).toEqual(problem);
    expect(toProblem(ours())).not.toHaveProperty('instance');
  });

  it('orchestrator FR-5: each field that is wrong is told, in the words of whoever found it, and not a million of them', () => {
    const errors = [
      { field: 'a', message: 'is missing' },
      { field: 'b', expected: '1 to 50 characters', given: '' },
      { field: 1, message: 'is skipped' },
      null,
      { field: 'c' },
    ];
    expect(toProblem(ours({ details: { errors: errors.filter(Boolean) } })).errors).toEqual([
      { field: 'a', message: 'is missing' },
      { field: 'b', message: 'must be 1 to 50 characters, got ' },
    ]);
    // A list that cannot be read is left out, the problem is not.
    expect(toProblem(ours({ details: { errors } }))).not.toHaveProperty('errors');
    const many = Array.from({ length: 1_000 }, () => errors[0]);
    expect(toProblem(ours({ details: { errors: many } })).errors).toHaveLength(50);
  });

  it('the line of a body that cannot be taken is told in numbers', () => {
    const line = (details: object) => toProblem(ours({ details })).line;
    const told = { line: 3, reason: 'it is not JSON', stored: 1 };
    expect(line(told)).toEqual({ number: 3, reason: 'it is not JSON', stored: 1 });
    for (const wrong of [{ line: '3' }, { line: 0 }, { stored: -1 }, { reason: undefined }])
      expect(line({ ...told, ...wrong })).toBeUndefined();
  });

  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('hostile');
      },
    },
  );
  it.each<[string, unknown]>([
    ['an error', new Error('password=hunter2')],
    [
      'one with a code of Node',
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' }),
    ],
    ['one of a database', Object.assign(new Error('relation "x"'), { code: '42P01', severity: 'ERROR' })],
    ['one of an HTTP client', Object.assign(new Error('hunter2'), { code: 'ERR_BAD', status: 404 })],
    ['a status that is none', ours({ status: 200 })],
    ['a code that is none', ours({ code: 'a b' })],
    ['a message that is none', ours({ message: {} })],
    ['a text', 'hunter2'],
    ['nothing', undefined],
    ['null', null],
    ['a hostile proxy', hostile],
  ])('orchestrator FR-5: anything else is INTERNAL without its message: %s', (_, error) => {
    expect(toProblem(error)).toEqual({
      type: 'urn:millrace:error:INTERNAL',
      title: 'Internal',
      status: 500,
      detail: 'Something went wrong here; it is in the log of the server',
      code: 'INTERNAL',
      retryable: false,
    });
  });
});
