import { expect, it } from 'vitest';
import { kindOf } from '../src/failure.js';
import { judgeOutcome } from '../src/outcome.js';

const sqlError = (code: string) => Object.assign(new Error('refused'), { severity: 'ERROR', code });

it.each([
  ['connection', ['08006', '57P01', '57P02', '57P03', '25P03'].map(sqlError)],
  ['connection', [new Error('terminated'), Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })]],
  ['unavailable', ['53300', '53100', '57014', '25006', '58030'].map(sqlError)],
  ['sql', ['40001', '40P01', '23505', '55P03', '3D000', '28P01', 'XX000'].map(sqlError)],
])('kindOf is %s for %o', (kind, errors) => {
  expect(errors.filter((error) => kindOf(error) !== kind)).toEqual([]);
});

it.each([
  ['committed', true, 'committed'],
  ['aborted', true, 'aborted'],
  ['in progress', true, 'in progress'],
  [null, true, 'unknown'],
  ['committed', false, 'unknown'],
  ['aborted', false, 'aborted'],
  ['in progress', false, 'aborted'],
  [null, false, 'unknown'],
] as const)(
  'judgeOutcome of %s, with the same life of the server: %s, is %s',
  (status, isSameLife, outcome) => {
    expect(judgeOutcome(status, isSameLife)).toBe(outcome);
  },
);
