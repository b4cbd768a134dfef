import { expect, it } from 'vitest';
import { Problem, toProblem } from '../src/index.js';

const ours = (more: object = {}) =>
  Object.assign(new Error('There is no operation 7'), {
    code: 'OPERATION_NOT_FOUND',
    status: 404,
    retryable: false,
    ...more,
  });

it('orchestrator FR-5: shows an error of Millrace unchanged', () => {
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

it('orchestrator FR-5: lists the invalid fields, 50 at most', () => {
  const errors = [
    { field: 'a', message: 'is missing' },
    { field: 'b', expected: '1 to 50 characters', given: '' },
    { field: 1, message: 'is skipped' },
    { field: 'c' },
  ];
  expect(toProblem(ours({ details: { errors } })).errors).toEqual([
    { field: 'a', message: 'is missing' },
    { field: 'b', message: 'must be 1 to 50 characters, got ' },
  ]);
  // An unreadable list is left out, the problem is not.
  expect(toProblem(ours({ details: { errors: [...errors, null] } }))).not.toHaveProperty('errors');
  const many = Array.from({ length: 1_000 }, () => errors[0]);
  expect(toProblem(ours({ details: { errors: many } })).errors).toHaveLength(50);
});

it('shows the refused line of a body', () => {
  const details = { line: 3, reason: 'it is not JSON', stored: 1 };
  const line = (more: object) => toProblem(ours({ details: { ...details, ...more } })).line;
  expect(line({})).toEqual({ number: 3, reason: 'it is not JSON', stored: 1 });
  for (const wrong of [{ line: '3' }, { line: 0 }, { stored: -1 }, { reason: undefined }])
    expect(line(wrong)).toBeUndefined();
});

const hostile = Proxy.revocable({}, {});
hostile.revoke();
it.each<[string, unknown]>([
  ['an error', new Error('password=hunter2')],
  ['an error of Node', Object.assign(new Error('10.0.0.1'), { code: 'ECONNREFUSED' })],
  ['an error of a database', Object.assign(new Error('relation "x"'), { code: '42P01' })],
  ['an error of an HTTP client', Object.assign(new Error('hunter2'), { code: 'ERR_BAD', status: 404 })],
  ['a wrong status', ours({ status: 200 })],
  ['a wrong code', ours({ code: 'a b' })],
  ['a wrong message', ours({ message: {} })],
  ['a text', 'hunter2'],
  ['undefined', undefined],
  ['null', null],
  ['a revoked proxy', hostile.proxy],
])('orchestrator FR-5: shows any other value as INTERNAL, without its message: %s', (_, error) => {
  expect(toProblem(error)).toEqual({
    type: 'urn:millrace:error:INTERNAL',
    title: 'Internal',
    status: 500,
    detail: 'Unexpected error; the server log has the details',
    code: 'INTERNAL',
    retryable: false,
  });
});
