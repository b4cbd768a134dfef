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
  const resultOf = <T>(_call: () => Promise<T>) => expectTypeOf<T>();
  const text = async () => 'text';
  const limit = pLimit(1);
  resultOf(() => retry(text)).toEqualTypeOf<string>();
  resultOf(() => retry(({ attempt }) => attempt)).toEqualTypeOf<number>();
  resultOf(() => limit((a: number, b: string) => a + b, 1, 'b')).toEqualTypeOf<string>();
  resultOf(() => limit.map(['a'], (item, index) => item.length + index)).toEqualTypeOf<number[]>();
  resultOf(() => limitFunction(async (a: number) => `${a}`, { concurrency: 1 })(1)).toEqualTypeOf<string>();
  resultOf(() => timeout(text(), 5)).toEqualTypeOf<string>();
  resultOf(() => timeout(text, { ms: 5, fallback: null })).toEqualTypeOf<string | null>();
  resultOf(() => timeout(text, { ms: 5, fallback: undefined })).toEqualTypeOf<string | undefined>();
  resultOf(() => timeout(text, { ms: 5, fallback: () => 5 })).toEqualTypeOf<string | number>();
  resultOf(() => wait(5)).toEqualTypeOf<undefined>();
  resultOf(() => wait(5, { value: 'x' })).toEqualTypeOf<string>();
  resultOf(() => waitUntil(() => undefined as string | undefined)).toEqualTypeOf<string>();
  resultOf(() => waitFor(1, 1, async (index) => index)).toEqualTypeOf<number[]>();
  // @ts-expect-error an argument of the wrong type
  void (() => limit((a: number) => a, 'x'));
});
