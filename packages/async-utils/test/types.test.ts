import type { BackoffStrategy as Shared } from '@millrace/foundation';
import type theirLimit from 'p-limit';
import type { LimitFunction as TheirLimitFunction } from 'p-limit';
import { expectTypeOf, it } from 'vitest';
import {
  type BackoffStrategy,
  limitFunction,
  pLimit,
  retry,
  timeout,
  wait,
  waitFor,
  waitUntil,
} from '../src/index.js';

// Types only: `tsc` is the judge, and none of the functions is called.

it('BackoffStrategy is the same type in async-utils and in foundation', () => {
  // Declared twice because neither package imports the other; the compiler keeps the two alike.
  expectTypeOf<BackoffStrategy>().toEqualTypeOf<Shared>();
});

it('async-utils FR-006: pLimit can stand wherever p-limit stood', () => {
  expectTypeOf(pLimit).toExtend<typeof theirLimit>();
  expectTypeOf(pLimit(1)).toExtend<TheirLimitFunction>();
});

it('results keep their types', () => {
  const text = async () => 'text';
  expectTypeOf(() => retry(text)).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf(() => retry(({ attempt }) => attempt)).returns.toEqualTypeOf<Promise<number>>();
  expectTypeOf(() => pLimit(1)((a: number, b: string) => a + b, 1, 'b')).returns.toEqualTypeOf<
    Promise<string>
  >();
  expectTypeOf(() => pLimit(1).map(['a'], (item, index) => item.length + index)).returns.toEqualTypeOf<
    Promise<number[]>
  >();
  expectTypeOf(() => limitFunction(async (a: number) => `${a}`, { concurrency: 1 })(1)).returns.toEqualTypeOf<
    Promise<string>
  >();
  expectTypeOf(() => timeout(text(), 5)).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf(() => timeout(text, { ms: 5, fallback: null })).returns.toEqualTypeOf<
    Promise<string | null>
  >();
  expectTypeOf(() => timeout(text, { ms: 5, fallback: undefined })).returns.toEqualTypeOf<
    Promise<string | undefined>
  >();
  expectTypeOf(() => timeout(text, { ms: 5, fallback: () => 5 })).returns.toEqualTypeOf<
    Promise<string | number>
  >();
  expectTypeOf(() => wait(5)).returns.toEqualTypeOf<Promise<undefined>>();
  expectTypeOf(() => wait(5, { value: 'x' })).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf(() => waitUntil(() => undefined as string | undefined)).returns.toEqualTypeOf<
    Promise<string>
  >();
  expectTypeOf(() => waitFor(1, 1, async (index) => index)).returns.toEqualTypeOf<Promise<number[]>>();
  // @ts-expect-error an argument of the wrong type
  void (() => pLimit(1)((a: number) => a, 'x'));
});
