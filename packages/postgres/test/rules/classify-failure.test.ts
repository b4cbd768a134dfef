import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../../src/index.js';

describe('classifyFailure', () => {
  it.each([
    ['08006', 'connection'],
    ['57P01', 'connection'],
    ['57P02', 'connection'],
    ['57P03', 'connection'],
    ['25P03', 'connection'],
    ['53300', 'unavailable'],
    ['53100', 'unavailable'],
    ['57014', 'unavailable'],
    ['25006', 'unavailable'],
    ['58030', 'unavailable'],
    ['40001', 'sql'],
    ['40P01', 'sql'],
    ['23505', 'sql'],
    ['55P03', 'sql'],
    ['3D000', 'sql'],
    ['28P01', 'sql'],
    ['XX000', 'sql'],
  ])('%s is %s', (code, kind) => {
    expect(classifyFailure({ isReply: true, code })).toBe(kind);
  });

  it('anything that is no reply is the connection', () => {
    expect(classifyFailure({ isReply: false, code: 'ECONNREFUSED' })).toBe('connection');
    expect(classifyFailure({ isReply: false })).toBe('connection');
  });
});
