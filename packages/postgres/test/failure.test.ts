import { describe, expect, it } from 'vitest';
import { kindOf } from '../src/failure.js';

const sqlError = (code: string) => Object.assign(new Error('refused'), { severity: 'ERROR', code });

describe('kindOf', () => {
  it.each([
    ['connection', ['08006', '57P01', '57P02', '57P03', '25P03']],
    ['unavailable', ['53300', '53100', '57014', '25006', '58030']],
    ['sql', ['40001', '40P01', '23505', '55P03', '3D000', '28P01', 'XX000']],
  ])('is %s for %s', (kind, codes) => {
    for (const code of codes) expect([code, kindOf(sqlError(code))]).toEqual([code, kind]);
  });

  it('is connection for every error that is no reply of PostgreSQL', () => {
    expect(kindOf(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toBe('connection');
    expect(kindOf(new Error('Connection terminated'))).toBe('connection');
  });
});
