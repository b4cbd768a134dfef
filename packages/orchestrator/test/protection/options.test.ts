import { MillraceError } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import {
  PROTECTION_DEFAULTS,
  type ProtectionOptions,
  resolveProtectionOptions,
} from '../../src/protection/options.js';

const resolve = (given: ProtectionOptions | undefined, idempotent = false) =>
  resolveProtectionOptions('Route A.B, protect', given, { idempotent });

function refusal(given: unknown, idempotent = false): MillraceError {
  try {
    resolve(given as ProtectionOptions, idempotent);
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error(`taken: ${JSON.stringify(given)}`);
}

describe('orchestrator NFR-2: options of a protection', () => {
  it('orchestrator NFR-2: leaves every part off that is not set', () => {
    expect(resolve({})).toEqual({ onRefused: 'keep' });
    expect(resolve(undefined)).toEqual({ onRefused: 'keep' });
    expect(resolve({ circuitBreaker: undefined, hedge: undefined })).toEqual({ onRefused: 'keep' });
  });

  it('orchestrator NFR-2: completes the parts that are set, and freezes everything', () => {
    const options = resolve(
      {
        timeoutMs: 900,
        circuitBreaker: { probes: 3 },
        bulkhead: { concurrency: 4 },
        rateLimit: { rps: 55 },
        hedge: { delayMs: 100 },
        onRefused: 'reject',
      },
      true,
    );
    expect(options).toEqual({
      timeoutMs: 900,
      circuitBreaker: { ...PROTECTION_DEFAULTS.circuitBreaker, probes: 3 },
      bulkhead: { concurrency: 4, queueMax: 0 },
      rateLimit: { rps: 55, burst: 5 },
      hedge: { delayMs: 100, hedgesMax: 1 },
      onRefused: 'reject',
    });
    expect(Object.values(options).every(Object.isFrozen)).toBe(true);
    expect(Object.isFrozen(options)).toBe(true);
    expect(resolve({ circuitBreaker: {} }).circuitBreaker).toEqual(PROTECTION_DEFAULTS.circuitBreaker);
    expect(resolve({ rateLimit: { rps: 0.5 } }).rateLimit?.burst).toBe(1);
    expect(resolve({ rateLimit: { rps: 50, burst: 50 } }).rateLimit?.burst).toBe(50);
  });

  it('orchestrator NFR-2: rejects a hedge on a route that is not idempotent, and one that could never start', () => {
    const hedge = { delayMs: 100 };
    expect(refusal({ hedge })).toMatchObject({ code: 'OPTION_INVALID' });
    expect(refusal({ hedge }).message).toMatch(
      /^Route A\.B, protect: hedge must be left out unless the route sets idempotent: true/,
    );
    expect(refusal({ hedge, timeoutMs: 100 }, true).message).toMatch(
      /hedge must be with a delayMs below timeoutMs/,
    );
    expect(resolve({ hedge, timeoutMs: 101 }, true).hedge?.delayMs).toBe(100);
  });

  it.each([
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: '5' }],
    ['circuitBreaker', { circuitBreaker: null }],
    ['circuitBreaker', { circuitBreaker: true }],
    ['circuitBreaker', { circuitBreaker: [] }],
    ['circuitBreaker.failureRate', { circuitBreaker: { failureRate: 0 } }],
    ['circuitBreaker.failureRate', { circuitBreaker: { failureRate: 50 } }],
    ['circuitBreaker.windowMs', { circuitBreaker: { windowMs: 5 } }],
    ['circuitBreaker.callsMin', { circuitBreaker: { callsMin: 0 } }],
    ['circuitBreaker.openMs', { circuitBreaker: { openMs: Number.NaN } }],
    ['circuitBreaker.probes', { circuitBreaker: { probes: 1.5 } }],
    ['bulkhead.concurrency', { bulkhead: {} }],
    ['bulkhead.queueMax', { bulkhead: { concurrency: 1, queueMax: -1 } }],
    ['rateLimit.rps', { rateLimit: {} }],
    ['rateLimit.rps', { rateLimit: { rps: 1n } }],
    ['rateLimit.burst', { rateLimit: { rps: 1, burst: 0 } }],
    ['hedge.delayMs', { hedge: {} }],
    ['hedge.hedgesMax', { hedge: { delayMs: 1, hedgesMax: 0 } }],
    ['onRefused', { onRefused: 'drop' }],
    ['the options', []],
  ])('orchestrator NFR-2: rejects a bad %s (%#)', (option, given) => {
    const error = refusal(given, true);
    expect(error.code).toBe('OPTION_INVALID');
    expect(error.message.startsWith(`Route A.B, protect: ${option} must be `)).toBe(true);
  });

  it('orchestrator NFR-2: rejects an unknown key and names the nearest known one', () => {
    expect(refusal({ timeoutMS: 5 })).toMatchObject({
      code: 'OPTION_UNKNOWN',
      message: expect.stringContaining("did you mean 'timeoutMs'?"),
    });
    expect(refusal({ bulkhead: { concurrency: 1, queMax: 5 } }).message).toContain(
      "did you mean 'bulkhead.queueMax'?",
    );
  });
});
