/** A function of a module, as the runtime's `threadTask` declares it. */
export interface ThreadTaskRef {
  /** The module's URL. */
  readonly module: string;
  /** The name of the exported function. */
  readonly name: string;
}

/** Runs functions of modules on threads: the runtime's ThreadPool is one. */
export interface ThreadRunner {
  /**
   * Runs a task on a thread.
   * @param task - which function.
   * @param args - its arguments, copied to the thread.
   * @returns its result; `cancel` ends it with its thread, whatever it does.
   */
  submit(task: ThreadTaskRef, ...args: unknown[]): Promise<unknown> & { cancel(): unknown };
}
