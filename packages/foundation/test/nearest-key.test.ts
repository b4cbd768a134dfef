import { describe, expect, it } from 'vitest';
import { nearestKey } from '../src/index.js';

const known = ['leaseMs', 'renewEveryMs', 'concurrency', 'maxSize', 'payloadBytesMax'];

describe('nearestKey', () => {
  it.each([
    ['leasMs', 'leaseMs'],
    ['lease', 'leaseMs'],
    ['LEASEMS', 'leaseMs'],
    ['concurency', 'concurrency'],
    ['cocnurrency', 'concurrency'],
    ['maxsize', 'maxSize'],
    ['renewEvery', 'renewEveryMs'],
    ['payloadByteMax', 'payloadBytesMax'],
  ])('%s → %s', (given, expected) => {
    expect(nearestKey(given, known)).toBe(expected);
  });

  it('names nothing when nothing is near', () => {
    expect(nearestKey('colour', known)).toBeUndefined();
    expect(nearestKey('x', known)).toBeUndefined();
    expect(nearestKey('anything', [])).toBeUndefined();
  });
});
