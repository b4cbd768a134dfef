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
  expired.catch(() => {}); // Rejects when the wait ends first.
  const end = performance.now() + deadlineMs;
  let last: Look<Awaited<T>> = { hung: true };
  try {
    do {
      const answer = await Promise.race([look(condition), expired]);
      if (answer === HUNG) break;
      if ('value' in answer && answer.value) return answer.value as Truthy<Awaited<T>>;
      last = answer;
      await delay(intervalMs);
    } while (performance.now() < end);
  } finally {
    expiry.abort();
  }
  throw new Error(`expected ${what} within ${deadlineMs} ms, ${describe(last)}`, {
    cause: 'error' in last ? last.error : undefined,
  });
}

const HUNG = Symbol('hung');

type Look<T> = { readonly value: T } | { readonly error: unknown } | { readonly hung: true };

async function look<T>(condition: () => T | PromiseLike<T>): Promise<Look<Awaited<T>>> {
  try {
    return { value: await condition() };
  } catch (error) {
    return { error };
  }
}

function describe(last: Look<unknown>): string {
  if ('hung' in last) return 'the condition never answered';
  if ('error' in last) return `the last look failed: ${String(last.error)}`;
  return `the last value was ${inspect(last.value)}`;
}
