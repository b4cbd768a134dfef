import { isAbortError } from '@millrace/async-utils';
import { ConcurrencyLimit, Retryable, Timeout } from '@millrace/async-utils/nestjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { expectNothingLeft } from '../../leftovers.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A class whose method never ends, with the signal in one of its decorators. */
function hanging(at: 'limit' | 'retry' | 'timeout') {
  const controller = new AbortController();
  const signal = (layer: string) => (layer === at ? controller.signal : undefined);
  class Hanging {
    tries = 0;

    @Timeout({ ms: 100, signal: signal('timeout') })
    @Retryable({ signal: signal('retry') })
    @ConcurrencyLimit({ concurrency: 1, signal: signal('limit') })
    async work(): Promise<void> {
      this.tries++;
      await new Promise(() => {});
    }
  }
  return { hanging: new Hanging(), controller };
}

it.each(['limit', 'retry', 'timeout'] as const)(
  'async-utils FR-012: the signal in the options of the %s ends the call, and no try follows',
  async (at) => {
    const { hanging: instance, controller } = hanging(at);
    const result = instance.work().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(50);
    controller.abort('stop');
    const error = await result;
    expect(isAbortError(error) && error.cause).toBe('stop');
    expectNothingLeft(controller.signal);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(instance.tries).toBe(1);
  },
);

it('async-utils FR-012: a call that waits for its slot leaves the queue', async () => {
  const { hanging: instance, controller } = hanging('limit');
  const results = [instance.work(), instance.work()].map((work) => work.catch((error: unknown) => error));
  await vi.advanceTimersByTimeAsync(0);
  controller.abort();
  expect((await Promise.all(results)).every(isAbortError)).toBe(true);
  expect(instance.tries).toBe(1);
});

it('async-utils FR-015: work that a call leaves behind waits for a slot like any other', async () => {
  @ConcurrencyLimit(1)
  class Careless {
    running = 0;
    most = 0;
    left: Promise<unknown> = Promise.resolve();

    async start(signal: Promise<void>): Promise<void> {
      this.left = signal.then(() => this.work());
    }

    async work(): Promise<void> {
      this.most = Math.max(this.most, ++this.running);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      this.running--;
    }
  }
  let letGo = () => {};
  const signal = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const careless = new Careless();
  await careless.start(signal);
  const other = careless.work();
  letGo();
  await Promise.all([other, signal]);
  await careless.left;
  expect(careless.most).toBe(1);
});
