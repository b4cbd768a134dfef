/**
 * What an observer can be told; each function here takes the hooks that apply to it.
 * A hook that throws or rejects never changes the result.
 */
export interface AsyncHooks {
  /** A try failed and another will follow after `delayMs`. */
  onRetry?: ((event: { attempt: number; error: unknown; delayMs: number }) => void) | undefined;
  /** The time was up. */
  onTimeout?: ((event: { ms: number }) => void) | undefined;
  /** The whole call succeeded. */
  onSuccess?: ((event: { attempts: number; durationMs: number }) => void) | undefined;
  /** The whole call failed. */
  onError?: ((event: { error: unknown; attempts: number; durationMs: number }) => void) | undefined;
}

const ignore = () => {};

/** Takes the rejection of work whose outcome nobody waits for any more, so that it never counts as unhandled. */
export function silence(work: unknown): void {
  (work as PromiseLike<unknown> | undefined)?.then?.(ignore, ignore);
}

/** Calls a hook, if there is one, and keeps its failure away from the result. */
export function tell<E>(hook: ((event: E) => unknown) | undefined, event: E): void {
  try {
    silence(hook?.(event));
  } catch {}
}

/** Runs `work` and reports its end to `onSuccess` or `onError`; costs nothing when neither is set. */
export function observed<T>(hooks: AsyncHooks, attempts: () => number, work: () => Promise<T>): Promise<T> {
  const { onSuccess, onError } = hooks ?? {};
  if (!onSuccess && !onError) return work();
  const startedAt = performance.now();
  const end = () => ({ attempts: attempts(), durationMs: performance.now() - startedAt });
  return work().then(
    (value) => {
      tell(onSuccess, end());
      return value;
    },
    (error: unknown) => {
      tell(onError, { error, ...end() });
      throw error;
    },
  );
}
