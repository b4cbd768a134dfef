/**
 * The signal of one try, made when somebody asks for it: few handlers do, and a signal costs 2 µs, more than all the
 * rest of a short job.
 */
export class JobSignal {
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  /** Aborts it; only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }

  /** The platform's signal. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }
}
