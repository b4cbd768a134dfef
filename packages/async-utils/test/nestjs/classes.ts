/**
 * Decorated classes that compile under both decorator systems; the suite runs over both compilations of this file.
 * Standard decorators know no parameters, and Nest's route decorators know no standard: routes are set by hand.
 */
import { attemptSignal, ConcurrencyLimit, Retryable, Timeout } from '@millrace/async-utils/nestjs';
import { Controller, Get, Param } from '@nestjs/common';

const again = { retries: 2, backoff: () => 0 };

/** Two signals on one method: the limit's is the outer one. */
export const STOPS = {
  limit: new AbortController(),
  retry: new AbortController(),
  hold: new AbortController(),
};

/** Fails for ever. */
export class TwoSignals {
  tries = 0;

  @ConcurrencyLimit({ concurrency: 1, signal: STOPS.limit.signal })
  @Retryable({ retries: 1_000, backoff: () => 1, signal: STOPS.retry.signal })
  async work() {
    this.tries++;
    throw new Error('no');
  }
}

/** Every order of the three; each handler hangs in its first try, fails in the second and succeeds in the third. */
@Controller('stacked')
export class StackedController {
  readonly log: string[] = [];

  @ConcurrencyLimit(1)
  @Retryable(again)
  @Timeout(15)
  async limitRetryTimeout(id: string) {
    return this.#work(id);
  }

  @ConcurrencyLimit(1)
  @Timeout(15)
  @Retryable(again)
  async limitTimeoutRetry(id: string) {
    return this.#work(id);
  }

  @Retryable(again)
  @ConcurrencyLimit(1)
  @Timeout(15)
  async retryLimitTimeout(id: string) {
    return this.#work(id);
  }

  @Retryable(again)
  @Timeout(15)
  @ConcurrencyLimit(1)
  async retryTimeoutLimit(id: string) {
    return this.#work(id);
  }

  @Timeout(15)
  @ConcurrencyLimit(1)
  @Retryable(again)
  async timeoutLimitRetry(id: string) {
    return this.#work(id);
  }

  @Timeout(15)
  @Retryable(again)
  @ConcurrencyLimit(1)
  async timeoutRetryLimit(id: string) {
    return this.#work(id);
  }

  async #work(id: string): Promise<{ id: string; tries: number }> {
    this.log.push(id);
    const tries = this.log.filter((entry) => entry === id).length;
    if (tries === 1) return new Promise(() => {});
    if (tries === 2) throw new Error('second try');
    return { id, tries };
  }
}

export const ORDERS = [
  'limitRetryTimeout',
  'limitTimeoutRetry',
  'retryLimitTimeout',
  'retryTimeoutLimit',
  'timeoutLimitRetry',
  'timeoutRetryLimit',
] as const;

for (const name of ORDERS) {
  const prototype = StackedController.prototype;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
  Param('id')(prototype, name, 0);
  Get(`${name}/:id`)(prototype, name, descriptor);
}

/** Sets metadata on a method under either decorator system, as Nest's own decorators do under the legacy one. */
export const mark =
  (key: string) =>
  (target: object, _: unknown, descriptor?: PropertyDescriptor): void =>
    Reflect.defineMetadata(key, true, descriptor?.value ?? target);

const named = Symbol('named');

export class Flaky {
  calls: unknown[][] = [];
  failures = 0;

  @Retryable()
  async withDefaults(): Promise<string> {
    return this.#run();
  }

  @mark('above')
  @Retryable(again)
  @mark('below')
  async fetch(first: string, second: number): Promise<string> {
    return this.#run(first, second);
  }

  @Retryable({ retries: 1 })
  async partly(): Promise<string> {
    return this.#run();
  }

  @Retryable(again)
  async [named](): Promise<string> {
    return this.#run();
  }

  callNamed(): Promise<string> {
    return this[named]();
  }

  @Retryable({
    retries: 1,
    backoff: () => 0,
    onRetry: () => {
      throw new Error('hook');
    },
  })
  async withBadHook(): Promise<string> {
    return this.#run();
  }

  static tries = 0;

  @Retryable(again)
  static async make(): Promise<string> {
    // biome-ignore lint/complexity/noThisInStatic: the test asks what `this` is
    if (++this.tries < 3) throw new Error('not yet');
    return 'made';
  }

  #run(...args: unknown[]): string {
    this.calls.push(args);
    if (this.calls.length <= this.failures) throw new Error(`failure ${this.calls.length}`);
    return 'done';
  }
}

export class Slow {
  readonly pending = new Promise<string>(() => {});

  @Timeout(100)
  async limited(): Promise<string> {
    return this.pending;
  }

  @Timeout()
  async bare(): Promise<string> {
    return this.pending;
  }

  @Timeout({ ms: 100, fallback: () => 'instead' })
  async withFallback(): Promise<string> {
    return this.pending;
  }

  @Timeout({ ms: 100, fallback: undefined })
  async withUndefined(): Promise<string | undefined> {
    return this.pending;
  }

  @Retryable(again)
  @Timeout({ ms: 100, error: () => new Error('ours') })
  async withError(): Promise<string> {
    return this.pending;
  }
}

/** Lets everything that can go on without a timer go on. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Counts what runs at once; each call runs until it is let go. */
export class Counter {
  active = 0;
  most = 0;
  readonly waiting: (() => void)[] = [];

  async run(): Promise<void> {
    this.most = Math.max(this.most, ++this.active);
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.active--;
  }

  release(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** How many calls ran at once when all were made together. */
  async mostOf(calls: Promise<unknown>[]): Promise<number> {
    let open = true;
    const all = Promise.all(calls).finally(() => {
      open = false;
    });
    while (open) {
      await settle();
      this.release();
    }
    await all;
    return this.most;
  }
}

export class Limited {
  readonly counter = new Counter();

  @ConcurrencyLimit(2)
  async work(): Promise<void> {
    await this.counter.run();
  }

  @ConcurrencyLimit(1)
  async other(): Promise<void> {
    await this.counter.run();
  }

  @ConcurrencyLimit()
  async bare(): Promise<void> {
    await this.counter.run();
  }

  @ConcurrencyLimit(1)
  async detached(counter: Counter): Promise<void> {
    await counter.run();
  }
}

@ConcurrencyLimit(2)
export class Shared {
  readonly counter = new Counter();
  readonly order: string[] = [];

  async first(): Promise<void> {
    await this.counter.run();
  }

  // Not declared async on purpose: such methods are common, and nothing but their result tells them apart.
  second(): Promise<void> {
    return this.counter.run();
  }

  @Retryable(again)
  async third(): Promise<void> {
    await this.counter.run();
  }

  @ConcurrencyLimit(3)
  async own(): Promise<void> {
    await this.counter.run();
  }

  @ConcurrencyLimit({ priority: 9 })
  async urgent(): Promise<void> {
    this.order.push('urgent');
  }

  async patient(): Promise<void> {
    this.order.push('patient');
  }

  async neighbours(): Promise<string[]> {
    return Promise.all([this.leaf('a'), this.leaf('b')]);
  }

  async leaf(name: string): Promise<string> {
    this.order.push(`${name} starts`);
    await Promise.resolve();
    this.order.push(`${name} ends`);
    return name;
  }

  refusing(): Promise<never> {
    return Promise.reject(new Error('refused'));
  }

  sum(a: number, b: number): number {
    return a + b;
  }

  get total(): number {
    return this.sum(1, 2);
  }

  async onModuleDestroy(): Promise<void> {
    this.counter.release();
  }
}

export class SharedChild extends Shared {
  async unlimited(): Promise<void> {
    await this.counter.run();
  }

  override async first(): Promise<void> {
    await super.first();
  }
}

/** Attempts that run until they time out. */
export class Overrunning {
  readonly counter = new Counter();
  readonly signals: (AbortSignal | undefined)[] = [];

  /** Ends as streams do: a turn of the event loop after the abort. */
  @ConcurrencyLimit(1)
  @Retryable(again)
  @Timeout(10)
  async obey(): Promise<void> {
    const signal = attemptSignal();
    this.signals.push(signal);
    const end = () => process.nextTick(() => this.counter.release());
    signal?.addEventListener('abort', () => queueMicrotask(end));
    await this.counter.run();
  }

  @ConcurrencyLimit({ concurrency: 1, holdSlot: true })
  @Retryable(again)
  @Timeout({ ms: 10, signal: STOPS.hold.signal })
  async ignore(): Promise<void> {
    await this.counter.run();
  }

  @Retryable()
  async bare(): Promise<(AbortSignal | undefined)[]> {
    return [attemptSignal(), attemptSignal()];
  }

  @Timeout(1000)
  async outer(): Promise<(AbortSignal | undefined)[]> {
    return [attemptSignal(), ...(await this.bare())];
  }
}

class Plain {
  readonly counter = new Counter();

  async inherited(): Promise<void> {
    await this.counter.run();
  }

  @Retryable(again)
  async decorated(): Promise<void> {
    await this.counter.run();
  }
}

@ConcurrencyLimit(1)
export class LimitedChild extends Plain {}

export class FreeChild extends Plain {}

@ConcurrencyLimit(3)
export class RelimitedChild extends LimitedChild {}

@ConcurrencyLimit()
export class BareClass {
  async work(): Promise<void> {}
}
