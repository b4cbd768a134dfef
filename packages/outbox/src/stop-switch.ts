/** The reason if a handler is stopped because its worker stops. */
export const STOPPING = new Error('The worker stops; the task is given back');

/**
 * Stops a running task. It makes its AbortController only when the signal is read: most handlers never read it, and a signal
 * costs more than a short handler.
 */
export class StopSwitch {
  #reason: { readonly value: unknown } | undefined;
  #listener: ((reason: unknown) => void) | undefined;
  #controller: AbortController | undefined;

  /** The reason of the stop. undefined before it. */
  get reason(): unknown {
    return this.#reason?.value;
  }

  /** Aborts at the stop. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  /** Stops the task. Only the first call counts. */
  stop(reason: unknown): void {
    if (this.#reason) return;
    this.#reason = { value: reason };
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /** Sets the only listener. It is called with the reason, at once if the task is stopped already. */
  onStop(listener: (reason: unknown) => void): void {
    if (this.#reason) listener(this.#reason.value);
    else this.#listener = listener;
  }
}
