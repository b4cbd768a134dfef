/** Why a handler is told to stop: its worker stops. */
export const STOPPING = new Error('The worker stops; the task is given back');

/**
 * Tells a running task to stop. Like an AbortController that is made only when somebody wants its signal: most handlers never look, and
 * signals cost more than a short handler does.
 */
export class StopSwitch {
  #reason: { readonly value: unknown } | undefined;
  #listener: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;

  /** Why it was thrown; undefined before. */
  get reason(): unknown {
    return this.#reason?.value;
  }

  /** Aborts when the switch is thrown. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  /** Throws the switch; only the first time counts. */
  stop(reason: unknown): void {
    if (this.#reason) return;
    this.#reason = { value: reason };
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /**
   * Waits for some work, but not after the switch was thrown: a handler that ignores it must not hold its slot for ever.
   * @param work - of a handler; also something that is no promise.
   * @throws what the work throws, or why the switch was thrown.
   */
  async during<T>(work: T | PromiseLike<T>): Promise<T> {
    if (this.#reason) throw this.#reason.value;
    if (!isThenable(work)) return work;
    return new Promise<T>((resolve, reject) => {
      this.#listener = reject;
      work.then(resolve, reject);
    });
  }
}

const isThenable = <T>(work: T | PromiseLike<T>): work is PromiseLike<T> =>
  typeof (work as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
