import { describe, expect, it } from 'vitest';
import {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  numberOption,
  type OptionSpec,
  objectOption,
  oneOfOption,
  type PartialOptions,
  resolveOptions,
  sectionOption,
  textOption,
} from '../src/index.js';

interface Resolved {
  readonly name: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly share: number;
  readonly mode: 'fast' | 'safe';
  readonly strict: boolean;
  readonly onEnd?: () => void;
  readonly store?: object;
  readonly backoff: string | (() => number);
  readonly congestion: { readonly baseBackoffMs: number; readonly floor: { readonly rate: number } };
}

const SPEC: OptionSpec<Resolved> = {
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
      holds: ({ renewEveryMs, leaseMs }) => renewEveryMs < leaseMs,
    },
  ],
};

const resolve = (given?: unknown) => resolveOptions(SPEC, given as PartialOptions<Resolved>);

describe('resolveOptions', () => {
  it('gives the defaults when nothing is given, and leaves out what has none', () => {
    expect(resolve()).toEqual(SPEC.defaults);
    expect(resolve({ concurrency: undefined })).toEqual(SPEC.defaults);
    expect('onEnd' in resolve()).toBe(false);
  });

  it('keeps what is given, at every depth', () => {
    const onEnd = () => {};
    const store = { get: 1, set: 2, more: 3 };
    expect(resolve({ concurrency: 3, onEnd, store, congestion: { floor: { rate: 7 } } })).toEqual({
      ...SPEC.defaults,
      concurrency: 3,
      onEnd,
      store,
      congestion: { baseBackoffMs: 100, floor: { rate: 7 } },
    });
  });

  it('freezes the result at every depth and shares nothing with the defaults', () => {
    const resolved = resolve();
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(Object.isFrozen(resolved.congestion.floor)).toBe(true);
    expect(resolved.congestion).not.toBe(SPEC.defaults.congestion);
  });

  it.each([
    [{ concurrency: 0 }, 'Engine: concurrency must be an integer from 1 to 1000, got 0'],
    [{ concurrency: 1.5 }, 'Engine: concurrency must be an integer from 1 to 1000, got 1.5'],
    [{ concurrency: '5' }, "Engine: concurrency must be an integer from 1 to 1000, got '5'"],
    [{ concurrency: null }, 'Engine: concurrency must be an integer from 1 to 1000, got null'],
    [{ leaseMs: 0 }, 'Engine: leaseMs must be a number of milliseconds ≥ 1, got 0'],
    [{ leaseMs: Number.NaN }, 'Engine: leaseMs must be a number of milliseconds ≥ 1, got NaN'],
    [
      { leaseMs: Number.POSITIVE_INFINITY },
      'Engine: leaseMs must be a number of milliseconds ≥ 1, got Infinity',
    ],
    [{ share: 1.1 }, 'Engine: share must be a number from 0 to 1, got 1.1'],
    [{ mode: 'quick' }, "Engine: mode must be one of 'fast', 'safe', got 'quick'"],
    [{ strict: 1 }, 'Engine: strict must be true or false, got 1'],
    [{ name: '' }, "Engine: name must be a text of length ≥ 1, got ''"],
    [{ onEnd: 'later' }, "Engine: onEnd must be a function, got 'later'"],
    [{ store: { get: 1 } }, 'Engine: store must be a store (with get, set), got {"get":1}'],
    [
      { backoff: 'none' },
      "Engine: backoff must be one of 'exponential', 'linear', or a function, got 'none'",
    ],
    [{ congestion: 5 }, 'Engine: congestion must be an object, got 5'],
    [
      { congestion: { baseBackoffMs: -1 } },
      'Engine: congestion.baseBackoffMs must be a number of milliseconds ≥ 0',
    ],
    [{ renewEveryMs: 30_000 }, 'Engine: renewEveryMs must be less than leaseMs, got 30000'],
    [7, 'Engine: the options must be an object, got 7'],
    [[], 'Engine: the options must be an object, got []'],
  ])('refuses %j', (given, message) => {
    expect(() => resolve(given)).toThrow(message);
    try {
      resolve(given);
    } catch (error) {
      expect(error).toMatchObject({ code: 'OPTION_INVALID', retryable: false });
    }
  });

  it('names the nearest known key for an unknown one, also inside a group', () => {
    expect(() => resolve({ lease: 5 })).toThrow(
      "Engine: there is no option 'lease'; did you mean 'leaseMs'?",
    );
    expect(() => resolve({ congestion: { baseBackof: 5 } })).toThrow(
      "there is no option 'congestion.baseBackof'; did you mean 'congestion.baseBackoffMs'?",
    );
    expect(() => resolve({ congestion: { floor: { zebra: 5 } } })).toThrow(
      "there is no option 'congestion.floor.zebra'; known: rate",
    );
    expect(() => resolve({ zebra: 5 })).toThrow("there is no option 'zebra'; known: name, concurrency");
  });

  it('takes no key from a prototype', () => {
    expect(() => resolve(JSON.parse('{"__proto__": 1}'))).toThrow("there is no option '__proto__'");
    expect(() => resolve({ constructor: 1 })).toThrow("there is no option 'constructor'");
  });

  it('messages stay short and safe, whatever the value', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(() => resolve({ concurrency: circular })).toThrow('got an unprintable object');
    expect(() => resolve({ mode: 'x'.repeat(10_000) })).toThrow(/^.{0,400}$/s);
    expect(() => resolve({ concurrency: Symbol('s') })).toThrow('Symbol(s)');
  });
});

it('rules without bounds say just their kind', () => {
  expect(integerOption().expected).toBe('an integer');
  expect(numberOption({ max: 5 }).expected).toBe('a number ≤ 5');
  expect(objectOption('a logger').accepts({})).toBe(true);
  expect(objectOption('a logger').accepts(null)).toBe(false);
});
