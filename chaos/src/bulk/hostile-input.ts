import type { BulkActionService, GroupInput, JobInput } from '@millrace/bulk-action';
import { PROCESSOR_TYPE } from './settings.js';

/** The tenant that is up to no good. */
export const HOSTILE = 'evil';

/** Names that mean something to a language, a store or a file system, and are names like any other here. */
export const ODD_NAMES = [
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'a:b:c',
  '..',
  '-1',
  'g:evil:0',
  'z'.repeat(128),
] as const;

/** A call of the hostile tenant, and how it must end: with a code, or accepted. */
export interface Attack {
  readonly what: string;
  readonly expected: string;
  call(service: BulkActionService): Promise<unknown>;
}

/** `limits.payloadBytesMax`. */
const BYTES_MAX = 262_144;
const LEVELS_MAX = 1000;

/** Ids that are none. */
const BAD_IDS: readonly unknown[] = [
  '',
  'z'.repeat(129),
  'z'.repeat(1_000_000),
  'a{b}c',
  '{0}',
  'a*',
  'a?b',
  'a[bc]',
  'a\u0000b',
  'a b',
  'a\nb',
  'ä',
  '\ud800',
  'a%2Fb',
  'a\\b',
  "a'b",
  'good/orders/j0',
  '../good/orders',
  undefined,
  null,
  7,
  {},
  ['a'],
  Symbol('a'),
  {
    toString() {
      throw new Error('an id that nobody can read');
    },
  },
];

/** Payloads that are none. */
const BAD_PAYLOADS: readonly (readonly [what: string, expected: string, make: () => unknown])[] = [
  ['a byte too long', 'PAYLOAD_TOO_LARGE', () => textOf(BYTES_MAX + 1)],
  ['a byte too long in wide characters', 'PAYLOAD_TOO_LARGE', () => wideTextOf(BYTES_MAX + 1)],
  ['ten thousand levels deep', 'PAYLOAD_INVALID', () => deep(10_000)],
  ['one level too deep', 'PAYLOAD_INVALID', () => deep(LEVELS_MAX + 1)],
  ['without end', 'PAYLOAD_INVALID', ring],
  ['a big integer', 'PAYLOAD_INVALID', () => 10n],
  ['a function', 'PAYLOAD_INVALID', () => () => 0],
  ['not a number', 'PAYLOAD_INVALID', () => Number.NaN],
  [
    'one that throws when it is written',
    'PAYLOAD_INVALID',
    () => ({
      toJSON() {
        throw new Error('a payload that nobody can read');
      },
    }),
  ],
];

/** Payloads that are odd, and stored as they are. */
export const ODD_PAYLOADS: readonly (readonly [what: string, make: () => unknown])[] = [
  ['of a thousand levels', () => deep(LEVELS_MAX - 1)],
  ['half characters', () => ['\ud800', 'a\udfffb', '\ud83d']],
  ['own __proto__', () => JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1}}')],
  ['nul and signs', () => ({ '\u0000': '*?[a]{0}:\r\n$1', "'; DROP": '\u2028\u2029\u202e' })],
  ['numbers', () => [1e308, -0, 5e-324, 2 ** 53 + 2, 0.1 + 0.2]],
  ['looks like a record', () => '\u0085\u00a1k\u00c0{"id":"j1"}'],
];

/** So many bytes as JSON. */
const textOf = (bytes: number): string => 'x'.repeat(bytes - 2);

/** The same, nearly all of it in characters of three bytes. */
function wideTextOf(bytes: number): string {
  const wide = Math.floor(bytes / 3) - 1;
  return '€'.repeat(wide) + 'x'.repeat(bytes - 2 - 3 * wide);
}

/** The largest text that may stand in a payload that is otherwise so long. */
export const fillUp = (around: object, member: string): object => {
  const empty = Buffer.byteLength(JSON.stringify({ ...around, [member]: '' }));
  return { ...around, [member]: 'y'.repeat(BYTES_MAX - empty) };
};

function deep(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function ring(): object {
  const value: Record<string, unknown> = {};
  value.value = value;
  return value;
}

const job = (rest: object = {}): JobInput => ({ processorType: PROCESSOR_TYPE, payload: {}, ...rest });
const own = (id: string): string => `${HOSTILE}/${id}`;
const named = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 20)) : typeof value;

/** All that the hostile tenant tries to hand in; nothing of it may be stored. */
export function hostileInputs(victim: string): readonly Attack[] {
  const refused = (what: string, expected: string, call: Attack['call']): Attack => ({
    what,
    expected,
    call,
  });
  const group = (what: string, input: object, expected = 'ID_INVALID') =>
    refused(what, expected, (service) => service.createGroup(input as GroupInput));
  return [
    ...BAD_IDS.flatMap((id, at) => [
      group(`group ${at} ${named(id)}`, { id, tenant: HOSTILE }),
      refused(`cancel ${at} ${named(id)}`, 'ID_INVALID', (service) => service.cancelGroup(id as string)),
    ]),
    ...BAD_IDS.filter((id) => id !== undefined).map((id, at) =>
      refused(`job ${at} ${named(id)}`, 'ID_INVALID', (service) => service.addJobs(own('x'), [job({ id })])),
    ),
    ...BAD_PAYLOADS.map(([what, expected, make]) =>
      refused(`payload ${what}`, expected, (service) =>
        service.addJobs(own('x'), [job({ id: 'good' }), job({ id: 'bad', payload: make() })]),
      ),
    ),
    group('a group in the namespace of another', { id: `${victim}/orders`, tenant: HOSTILE }),
    group('a group that spends the share of another', { id: 'x', tenant: HOSTILE, tenantId: victim }),
    group('a tenant with a slash', { id: 'x', tenant: `${HOSTILE}/..` }),
    group('a weight beyond all', { id: 'x', tenant: HOSTILE, weight: 1e9 }, 'OPTION_INVALID'),
    group('an option of another object', { id: 'x', tenant: HOSTILE, toString: 'x' }, 'OPTION_UNKNOWN'),
    refused('a cost of nothing', 'OPTION_INVALID', (service) =>
      service.addJobs(own('x'), [job({ cost: 0 })]),
    ),
    refused('a processor without a name', 'ID_INVALID', (service) =>
      service.addJobs(own('x'), [job({ processorType: '\u0000' })]),
    ),
    refused('no list of jobs', 'OPTION_INVALID', (service) => service.addJobs(own('x'), 7 as never)),
  ];
}
