/**
 * Every wrong use of a decorator, compiled twice: by the legacy and by the standard rules.
 */
import { ConcurrencyLimit, Retryable, Timeout } from '@millrace/async-utils/nestjs';

/** Each throws while the class is defined. */
export const MISUSES: readonly [id: string, what: string, define: () => unknown, message: RegExp][] = [
  [
    'FR-013',
    'Retryable on a class',
    () => {
      // @ts-expect-error only ConcurrencyLimit may stand on a class
      @Retryable()
      class Wrong {}
      return Wrong;
    },
    /@Retryable must stand on a method, got class Wrong/,
  ],
  [
    'FR-014',
    'Timeout on a class',
    () => {
      // @ts-expect-error only ConcurrencyLimit may stand on a class
      @Timeout(5)
      class Wrong {}
      return Wrong;
    },
    /@Timeout must stand on a method, got class Wrong/,
  ],
  [
    'FR-014',
    'a decorator twice on one method',
    () => {
      class Wrong {
        @Timeout(5)
        @Retryable()
        @Timeout(6)
        async work() {}
      }
      return Wrong;
    },
    /@Timeout stands twice on work/,
  ],
  [
    'FR-015',
    'ConcurrencyLimit twice on one class',
    () => {
      @ConcurrencyLimit(1)
      @ConcurrencyLimit(2)
      class Wrong {}
      return Wrong;
    },
    /@ConcurrencyLimit stands twice on class Wrong/,
  ],
  [
    'FR-014',
    'a decorator on an accessor',
    () => {
      class Wrong {
        // @ts-expect-error not a method
        @Timeout(5)
        get value() {
          return 1;
        }
      }
      return Wrong;
    },
    /@Timeout must stand on a method, got/,
  ],
  [
    'FR-013',
    'negative retries',
    () => Retryable({ retries: -1 }),
    /@Retryable: retries must be an integer ≥ 0, got -1/,
  ],
  [
    'FR-013',
    'an unknown back-off',
    () => Retryable({ backoff: 'cubic' as 'linear' }),
    /@Retryable: backoff must be .*'cubic'/,
  ],
  [
    'FR-013',
    'an unknown option',
    () => Retryable({ retires: 1 } as object),
    /@Retryable: unknown option 'retires', expected retries, backoff/,
  ],
  [
    'FR-014',
    'a negative time limit',
    () => Timeout(-1),
    /@Timeout: ms must be a number of milliseconds ≥ 0, got -1/,
  ],
  [
    'FR-014',
    'an error that is none',
    () => Timeout({ ms: 1, error: 'x' as unknown as Error }),
    /@Timeout: error must be a fun/,
  ],
  [
    'FR-015',
    'no concurrency at all',
    () => ConcurrencyLimit(0),
    /@ConcurrencyLimit: concurrency must be an integer ≥ 1/,
  ],
  [
    'FR-015',
    'a priority out of range',
    () => ConcurrencyLimit({ concurrency: 1, priority: 11 }),
    /@ConcurrencyLimit: priority must be an integer from 0 to 10, got 11/,
  ],
  [
    'FR-015',
    'a holdSlot that is no boolean',
    () => ConcurrencyLimit({ concurrency: 1, holdSlot: 'yes' as unknown as boolean }),
    /@ConcurrencyLimit: holdSlot must be a boolean, got 'yes'/,
  ],
  [
    'FR-013',
    'a controller in place of its signal',
    () => Retryable({ signal: new AbortController() as unknown as AbortSignal }),
    /@Retryable: signal must be an AbortSignal/,
  ],
  [
    'FR-013',
    'null',
    () => Retryable(null as unknown as object),
    /@Retryable: options must be an object, got null/,
  ],
];
