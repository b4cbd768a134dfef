import { expect, it } from 'vitest';
import type { Create } from './tools.js';

const nested = (depth: number): unknown => {
  let value: unknown = 'the bottom';
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { value };
  return value;
};

/** JSON can carry all of these; careless code breaks on each. */
const PAYLOADS: readonly (readonly [what: string, payload: unknown])[] = [
  ['null', null],
  ['false', false],
  ['an empty text', ''],
  ['an empty object', {}],
  ['an empty array', []],
  ['a text that looks like JSON', '{"id":"1","payload":null}'],
  ['a text that looks like a number', '007'],
  ['numbers', [0, 1, -1, 0.1 + 0.2, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]],
  ['unicode', 'é 漢字 🦆 👩‍👩‍👧 \u202Ertl \u0000 \u2028 \u2029'],
  ['lone surrogates', ['\uD800', '\uDFFF', 'a\uDC00b']],
  ['an own __proto__', JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}')],
  ['a key of every kind', { '': 1, ' ': 2, 'a.b': 3, '\uD800': 4, 'quote"': 5, '\\': 6, 1: 7 }],
  ['1000 levels', nested(1000)],
  ['a text of 100 KB', 'x'.repeat(100 * 1024)],
  ['100 KB of characters of four bytes', '🦆'.repeat(25 * 1024)],
];

/** Payloads arrive as they were sent. */
export function carrying(create: Create): void {
  it.each(PAYLOADS)('%s', async (_, payload) => {
    const queue = await create<unknown>();
    const put = await queue.put(payload);
    const waiting = await queue.get();
    // Compared as text: matchers overlook an own __proto__.
    expect(JSON.stringify(waiting?.payload)).toBe(JSON.stringify(payload));
    expect(JSON.stringify(put.payload)).toBe(JSON.stringify(payload));

    const handedOver = queue.get();
    await queue.tryPut(payload);
    expect(JSON.stringify((await handedOver)?.payload)).toBe(JSON.stringify(payload));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
}

const BAD_TIMES = [-1, Number.NaN, '5', null, {}];

/** Bad configuration and bad call options: refused, and nothing has changed. */
export function refusing(create: Create): void {
  it.each([
    { maxSize: -1 },
    { maxSize: 1.5 },
    { maxSize: '5' },
    { maxSize: Number.POSITIVE_INFINITY },
    { defaultTimeoutMs: -1 },
    { defaultTimeoutMs: Number.NaN },
  ])('the configuration %o is refused with OPTION_INVALID', async (config) => {
    await expect(create(config as never)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it('an unknown key of the configuration is refused with OPTION_UNKNOWN and the nearest known one', async () => {
    await expect(create({ maxsize: 5 } as never)).rejects.toMatchObject({
      code: 'OPTION_UNKNOWN',
      message: expect.stringContaining("'maxSize'"),
    });
  });

  it.each(BAD_TIMES)('timeoutMs %o is refused with OPTION_INVALID', async (timeoutMs) => {
    const queue = await create<number>();
    await queue.put(1);
    const options = { timeoutMs } as never;
    await expect(queue.get(options)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    await expect(queue.put(2, options)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
    expect(await queue.size()).toBe(1);
  });

  it('a signal that is none, options that are none and an unknown key are refused', async () => {
    const queue = await create<number>();
    await queue.put(1);
    for (const [options, code] of [
      [{ signal: new AbortController() }, 'OPTION_INVALID'],
      [500, 'OPTION_INVALID'],
      [{ timeout: 5 }, 'OPTION_UNKNOWN'],
    ] as const) {
      await expect(queue.get(options as never)).rejects.toMatchObject({ code });
      await expect(queue.put(2, options as never)).rejects.toMatchObject({ code });
    }
    expect(await queue.size()).toBe(1);
  });
}
