import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

interface UntilOptions {
  /** The condition in the words of the error message: "the job to settle". */
  readonly what: string;
  /** Real milliseconds until the wait fails (5,000). */
  readonly deadlineMs?: number | undefined;
  /** Real milliseconds between two checks (5). */
  readonly intervalMs?: number | undefined;
}

type Truthy<T> = Exclude<T, false | null | undefined | 0 | '' | 0n>;

/**
 * Checks a condition repeatedly until it returns a truthy value, and returns that value. A throw means "not yet".
 * @throws Error with what was waited for and the last value or error (as `cause`) when the deadline passes, also if the
 *   condition itself hangs.
 */
export async function until<T>(
  condition: () => T | PromiseLike<T>,
  { what, deadlineMs = 5_000, intervalMs = 5 }: UntilOptions,
): Promise<Truthy<Awaited<T>>> {
  const expiry = new AbortController();
  const expired = delay(deadlineMs, HUNG, { signal: expiry.signal });
  expired.catch(() => {}); // Rejects if the wait ends first.
  const end = performance.now() + deadlineMs;
  let last = () => 'the condition never answered';
  let cause: unknown;
  try {
    do {
      try {
        const value = await Promise.race([condition(), expired]);
        if (value === HUNG) break;
        if (value) return value as Truthy<Awaited<T>>;
        last = () => `the last value was ${inspect(value)}`;
        cause = undefined;
      } catch (error) {
        last = () => `the last check failed: ${String(error)}`;
        cause = error;
      }
      await delay(intervalMs);
    } while (performance.now() < end);
  } finally {
    expiry.abort();
  }
  throw new Error(`expected ${what} within ${deadlineMs} ms, ${last()}`, { cause });
}

const HUNG = Symbol('hung');
