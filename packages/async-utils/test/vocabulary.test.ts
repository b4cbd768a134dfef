import type { BackoffStrategy as Shared } from '@millrace/foundation';
import { expectTypeOf, it } from 'vitest';
import type { BackoffStrategy } from '../src/index.js';

// Declared twice because neither package imports the other; the compiler keeps the two alike.
it('BackoffStrategy is the same type in async-utils and in foundation', () => {
  expectTypeOf<BackoffStrategy>().toEqualTypeOf<Shared>();
});
