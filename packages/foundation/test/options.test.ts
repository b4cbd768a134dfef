import { expect, it } from 'vitest';
import {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  numberOption,
  type OptionRule,
  type OptionSpec,
  objectOption,
  oneOfOption,
  resolveOptions,
  sectionOption,
  textOption,
} from '../src/index.js';

const named = oneOfOption('fast', 'safe');

it.each<[expected: string, rule: OptionRule, good: readonly unknown[], bad: readonly unknown[]]>([
  ['an integer', integerOption(), [-3, 2 ** 40], [2 ** 53]],
  ['an integer from 1 to 1000', integerOption({ min: 1, max: 1000 }), [1, 1000], [0, 1001, 1.5, '5', null]],
  ['a number from 0 to 1', numberOption({ min: 0, max: 1 }), [0, 0.5, 1], [-0.1, 1.1, Number.NaN]],
  ['a number ≤ 5', numberOption({ max: 5 }), [-9.5, 5], [6, -Infinity]],
  ['a number of milliseconds ≥ 0', durationOption(), [0, 0.5], [-1]],
  ['a number of milliseconds ≥ 1', durationOption({ min: 1 }), [1], [0, Number.NaN, Infinity]],
  ['true or false', booleanOption(), [true, false], [1]],
  ['a text of length ≥ 1', textOption(), ['x'], ['', 5]],
  ["one of 'fast', 'safe'", named, ['fast'], ['quick']],
  ['a function', functionOption(), [() => {}], ['later']],
  ['a logger', objectOption('a logger'), [{}], [null, 5]],
  ['a store (with get, set)', objectOption('a store', 'get', 'set'), [{ get: 1, set: 2 }], [{ get: 1 }]],
  ["one of 'fast', 'safe', or a function", anyOption(named, functionOption()), ['safe', () => 1], ['none']],
])('accepts %s', (expected, rule, good, bad) => {
  expect(rule.expected).toBe(expected);
  expect([good.filter((value) => !rule.accepts(value)), bad.filter(rule.accepts)]).toEqual([[], []]);
});

const SPEC: OptionSpec<Record<string, unknown>> = {
  owner: 'Engine',
  defaults: { leaseMs: 30_000, renewEveryMs: 10_000, congestion: { backoffMs: 100, floor: { rate: 1 } } },
  rules: {
    leaseMs: durationOption({ min: 1 }),
    renewEveryMs: durationOption(),
    onEnd: functionOption(),
    congestion: sectionOption({
      backoffMs: durationOption(),
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

it('fills in the defaults at every depth, freezes the result, and omits options that have none', () => {
  const resolved = resolve({ leaseMs: undefined }) as { congestion: { floor: object } };
  for (const each of [resolve(), resolved]) expect(each).toStrictEqual(SPEC.defaults);
  expect([resolved, resolved.congestion.floor].every(Object.isFrozen)).toBe(true);
  expect(resolved.congestion).not.toBe(SPEC.defaults.congestion);
  const given = { leaseMs: 50_000, onEnd: () => {} };
  expect(resolve({ ...given, congestion: { floor: { rate: 7 } } })).toEqual({
    ...given,
    renewEveryMs: 10_000,
    congestion: { backoffMs: 100, floor: { rate: 7 } },
  });
});

it.each<[given: unknown, message: string]>([
  [{ leaseMs: 0 }, 'leaseMs must be a number of milliseconds ≥ 1, got 0'],
  [{ leaseMs: '5' }, "leaseMs must be a number of milliseconds ≥ 1, got '5'"],
  [{ leaseMs: null }, 'leaseMs must be a number of milliseconds ≥ 1, got null'],
  [{ congestion: 5 }, 'congestion must be an object, got 5'],
  [{ congestion: { backoffMs: -1 } }, 'congestion.backoffMs must be a number of milliseconds ≥ 0, got -1'],
  [{ renewEveryMs: 30_000 }, 'renewEveryMs must be less than leaseMs, got 30000'],
  [7, 'the options must be an object, got 7'],
  [[], 'the options must be an object, got []'],
  [{ lease: 5 }, "there is no option 'lease'; did you mean 'leaseMs'?"],
  [{ LEASEMS: 5 }, "there is no option 'LEASEMS'; did you mean 'leaseMs'?"],
  [{ congetsion: 5 }, "there is no option 'congetsion'; did you mean 'congestion'?"],
  [{ congestion: { back: 5 } }, "there is no option 'congestion.back'; did you mean 'congestion.backoffMs'?"],
  [{ congestion: { floor: { zebra: 5 } } }, "there is no option 'congestion.floor.zebra'; known: rate"],
  ...['zebra', 'x', '__proto__', 'constructor'].map((key): [object, string] => [
    { [key]: 5 },
    `there is no option '${key}'; known: leaseMs, renewEveryMs, onEnd, congestion`,
  ]),
])('rejects %j: %s', (given, message) => {
  const code = message.startsWith('there is no option') ? 'OPTION_UNKNOWN' : 'OPTION_INVALID';
  const error = { code, message: `Engine: ${message}`, retryable: false };
  expect(() => resolve(given)).toThrow(expect.objectContaining(error));
});
