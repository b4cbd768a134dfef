import { setImmediate } from 'node:timers/promises';

/** Counts the calls that run at once. Each one runs until it is released. */
export class Counter {
  active = 0;
  most = 0;
  readonly #waiting: (() => void)[] = [];

  async run(): Promise<void> {
    this.most = Math.max(this.most, ++this.active);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.active--;
  }

  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Releases what runs until all calls have ended. Returns how many ran at once. */
  async mostOf(calls: readonly Promise<unknown>[]): Promise<number> {
    this.most = 0;
    let open = true;
    const all = Promise.all(calls).finally(() => {
      open = false;
    });
    while (open) {
      await setImmediate();
      this.most = Math.max(this.most, this.active);
      this.release();
    }
    await all;
    return this.most;
  }
}
