import { describe, expect, it } from 'vitest';
import {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  nearestKey,
  numberOption,
  type OptionSpec,
  objectOption,
  oneOfOption,
  resolveOptions,
  sectionOption,
  textOption,
} from '../src/index.js';

const SPEC: OptionSpec<Record<string, unknown>> = {
  owner: 'Engine',
  defaults: {
    name: 'engine',
    concurrency: 50,
    leaseMs: 30_000,
    renewEveryMs: 10_000,
    share: 0.5,
    mode: 'safe',
    strict: false,
    backoff: 'exponential',
    congestion: { baseBackoffMs: 100, floor: { rate: 1 } },
  },
  rules: {
    name: textOption(),
    concurrency: integerOption({ min: 1, max: 1000 }),
    leaseMs: durationOption({ min: 1 }),
    renewEveryMs: durationOption(),
    share: numberOption({ min: 0, max: 1 }),
    mode: oneOfOption('fast', 'safe'),
    strict: booleanOption(),
    onEnd: functionOption(),
    store: objectOption('a store', 'get', 'set'),
    backoff: anyOption(oneOfOption('exponential', 'linear'), functionOption()),
    congestion: sectionOption({
      baseBackoffMs: durationOption(),
      floor: sectionOption({ rate: numberOption({ min: 0 }) }),
    }),
  },
  relations: [
    {
      option: 'renewEveryMs',
      expected: 'less than leaseMs',
      holds: ({ renewEveryMs, leaseMs }) => (renewEveryMs as number) < (leaseMs as number),
    },
  ],
};

const resolve = (given?: unknown) => resolveOptions(SPEC, given as object);

describe('resolveOptions', () => {
  it('fills in the defaults at every depth, and omits options that have none', () => {
    expect(resolve()).toEqual(SPEC.defaults);
    expect(resolve({ concurrency: undefined })).toEqual(SPEC.defaults);
    expect('onEnd' in resolve()).toBe(false);
    const given = { concurrency: 3, onEnd: () => {}, store: { get: 1, set: 2, more: 3 } };
    expect(resolve({ ...given, congestion: { floor: { rate: 7 } } })).toEqual({
      ...SPEC.defaults,
      ...given,
      congestion: { baseBackoffMs: 100, floor: { rate: 7 } },
    });
  });

  it('freezes the result at every depth and shares nothing with the defaults', () => {
    const resolved = resolve() as { congestion: { floor: object } };
    expect([resolved, resolved.congestion.floor].every(Object.isFrozen)).toBe(true);
    expect(resolved.congestion).not.toBe(SPEC.defaults.congestion);
  });

  it.each([
    [{ concurrency: 0 }, 'concurrency must be an integer from 1 to 1000, got 0'],
    [{ concurrency: 1.5 }, 'concurrency must be an integer from 1 to 1000, got 1.5'],
    [{ concurrency: '5' }, "concurrency must be an integer from 1 to 1000, got '5'"],
    [{ concurrency: null }, 'concurrency must be an integer from 1 to 1000, got null'],
    [{ leaseMs: 0 }, 'leaseMs must be a number of milliseconds ≥ 1, got 0'],
    [{ leaseMs: Number.NaN }, 'leaseMs must be a number of milliseconds ≥ 1, got NaN'],
    [{ leaseMs: Infinity }, 'leaseMs must be a number of milliseconds ≥ 1, got Infinity'],
    [{ share: 1.1 }, 'share must be a number from 0 to 1, got 1.1'],
    [{ mode: 'quick' }, "mode must be one of 'fast', 'safe', got 'quick'"],
    [{ strict: 1 }, 'strict must be true or false, got 1'],
    [{ name: '' }, "name must be a text of length ≥ 1, got ''"],
    [{ onEnd: 'later' }, "onEnd must be a function, got 'later'"],
    [{ store: { get: 1 } }, 'store must be a store (with get, set), got {"get":1}'],
    [{ backoff: 'none' }, "backoff must be one of 'exponential', 'linear', or a function, got 'none'"],
    [{ congestion: 5 }, 'congestion must be an object, got 5'],
    [{ congestion: { baseBackoffMs: -1 } }, 'congestion.baseBackoffMs must be a number of milliseconds ≥ 0'],
    [{ renewEveryMs: 30_000 }, 'renewEveryMs must be less than leaseMs, got 30000'],
    [7, 'the options must be an object, got 7'],
    [[], 'the options must be an object, got []'],
  ])('rejects %j', (given, message) => {
    const invalid = { code: 'OPTION_INVALID', retryable: false };
    expect(() => resolve(given)).toThrow(expect.objectContaining(invalid));
    expect(() => resolve(given)).toThrow(`Engine: ${message}`);
  });

  it.each([
    [{ lease: 5 }, "'lease'; did you mean 'leaseMs'?"],
    [{ congestion: { baseBackof: 5 } }, "'congestion.baseBackof'; did you mean 'congestion.baseBackoffMs'?"],
    [{ congestion: { floor: { zebra: 5 } } }, "'congestion.floor.zebra'; known: rate"],
    [{ zebra: 5 }, "'zebra'; known: name, concurrency"],
    [JSON.parse('{"__proto__": 1}'), "'__proto__'"],
    [{ constructor: 1 }, "'constructor'"],
  ])('names the nearest known key in the error for %j', (given, hint) => {
    expect(() => resolve(given)).toThrow(`Engine: there is no option ${hint}`);
  });

  it('keeps messages short and safe for any value', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(() => resolve({ concurrency: circular })).toThrow('got an unprintable object');
    expect(() => resolve({ mode: 'x'.repeat(10_000) })).toThrow(/^.{0,400}$/s);
    expect(() => resolve({ concurrency: Symbol('s') })).toThrow('Symbol(s)');
  });
});

it('describes rules without bounds by their kind alone', () => {
  expect([integerOption().expected, numberOption({ max: 5 }).expected]).toEqual([
    'an integer',
    'a number ≤ 5',
  ]);
  expect([{}, null].map(objectOption('a logger').accepts)).toEqual([true, false]);
});

it.each([
  ['leasMs', 'leaseMs'],
  ['LEASEMS', 'leaseMs'],
  ['concurency', 'concurrency'],
  ['cocnurrency', 'concurrency'],
  ['maxsize', 'maxSize'],
  ['renewEvery', 'renewEveryMs'],
  ['payloadByteMax', 'payloadBytesMax'],
  ['colour', undefined],
  ['x', undefined],
])('nearestKey of %s is %s', (given, expected) => {
  const known = ['leaseMs', 'renewEveryMs', 'concurrency', 'maxSize', 'payloadBytesMax'];
  expect(nearestKey(given, known)).toBe(expected);
  expect(nearestKey(given, [])).toBeUndefined();
});
