/** Observers of a call. Each function takes the hooks that apply to it. A hook that throws never changes the result. */
export interface AsyncHooks {
  /** An attempt failed, and the next one follows after `delayMs`. */
  onRetry?: ((event: { attempt: number; error: unknown; delayMs: number }) => void) | undefined;
  /** The time was up. */
  onTimeout?: ((event: { ms: number }) => void) | undefined;
  /** The whole call succeeded. */
  onSuccess?: ((event: { attempts: number; durationMs: number }) => void) | undefined;
  /** The whole call failed. */
  onError?: ((event: { error: unknown; attempts: number; durationMs: number }) => void) | undefined;
}

const ignore = () => {};

/** Handles the rejection of abandoned work, so that it is never reported as unhandled. */
export function silence(work: unknown): void {
  (work as PromiseLike<unknown> | undefined)?.then?.(ignore, ignore);
}

/** Calls a hook, if there is one, and ignores its failure. */
export function tell<E>(hook: ((event: E) => unknown) | undefined, event: E): void {
  try {
    silence(hook?.(event));
  } catch {}
}

/** Runs `work` and reports its end to `onSuccess` or `onError`. Costs nothing if neither is set. */
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
