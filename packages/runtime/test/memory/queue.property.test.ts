import { ManualClock } from '@millrace/testkit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InMemoryQueue } from '../../src/memory/queue.js';
import type { QueueItem } from '../../src/model.js';

type Step =
  | { readonly do: 'put'; readonly timeoutMs: number | undefined }
  | { readonly do: 'get'; readonly timeoutMs: number | undefined }
  | { readonly do: 'tryPut' }
  | { readonly do: 'close' }
  | { readonly do: 'cancel'; readonly which: number }
  | { readonly do: 'wait'; readonly ms: number };

const timeoutMs = fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), timeoutMs }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('get' as const), timeoutMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('tryPut' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(50) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ max: 15, min: 0 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const) }) },
);

/** The queue as a textbook has it: arrays, every call settled by looking at all of them again. */
class Model {
  readonly items: number[] = [];
  readonly getters: { readonly call: number; readonly until: number }[] = [];
  readonly putters: { readonly call: number; readonly payload: number; readonly until: number }[] = [];
  readonly outcomes = new Map<number, unknown>();
  closed = false;

  constructor(readonly maxSize: number) {}

  get full(): boolean {
    return this.maxSize > 0 && this.items.length >= this.maxSize;
  }

  put(call: number, until: number): void {
    if (this.closed) this.outcomes.set(call, 'QUEUE_CLOSED');
    else this.putters.push({ call, payload: call, until });
  }

  get(call: number, until: number): void {
    this.getters.push({ call, until });
  }

  settle(now: number): void {
    for (;;) {
      const getter = this.getters[0];
      const putter = this.putters[0];
      if (putter && !this.full) {
        this.putters.shift();
        this.items.push(putter.payload);
        this.outcomes.set(putter.call, putter.payload);
      } else if (getter && this.items.length > 0) {
        this.getters.shift();
        this.outcomes.set(getter.call, this.items.shift());
      } else break;
    }
    this.#drop(this.putters, (at) => (this.closed ? 'QUEUE_CLOSED' : at <= now ? 'QUEUE_FULL' : undefined));
    this.#drop(this.getters, (at) => (this.closed || at <= now ? null : undefined));
  }

  cancel(call: number): void {
    for (const line of [this.getters, this.putters]) {
      const index = line.findIndex((waiter) => waiter.call === call);
      if (index < 0) continue;
      line.splice(index, 1);
      this.outcomes.set(call, 'ABORTED');
    }
  }

  #drop(line: { call: number; until: number }[], outcomeAt: (until: number) => unknown): void {
    for (const waiter of [...line]) {
      const outcome = outcomeAt(waiter.until);
      if (outcome === undefined) continue;
      line.splice(line.indexOf(waiter), 1);
      this.outcomes.set(waiter.call, outcome);
    }
  }
}

async function run(maxSize: number, steps: readonly Step[]): Promise<void> {
  const clock = new ManualClock();
  const queue = new InMemoryQueue<number>({ maxSize }, { clock });
  const model = new Model(maxSize);
  const outcomes = new Map<number, unknown>();
  const controllers: AbortController[] = [];
  const track = (call: number, promise: Promise<QueueItem<number> | null>) =>
    void promise.then(
      (item) => outcomes.set(call, item ? item.payload : null),
      (error: { code: string }) => outcomes.set(call, error.code),
    );

  for (const [call, at] of steps.entries()) {
    const controller = new AbortController();
    controllers.push(controller);
    const now = clock.monotonicMs();
    if (at.do === 'put' || at.do === 'get') {
      const options = { timeoutMs: at.timeoutMs, signal: controller.signal };
      track(call, at.do === 'put' ? queue.put(call, options) : queue.get(options));
      model[at.do](call, now + (at.timeoutMs ?? Infinity));
    } else if (at.do === 'tryPut') {
      track(call, queue.tryPut(call));
      if (model.full && !model.closed) model.outcomes.set(call, null);
      else model.put(call, now);
    } else if (at.do === 'cancel') {
      const which = at.which % controllers.length;
      controllers[which]?.abort();
      model.cancel(which);
    } else if (at.do === 'close') {
      await queue.close();
      model.closed = true;
    } else {
      await clock.advance(at.ms);
    }
    model.settle(clock.monotonicMs());
    expect(await queue.size()).toBe(model.items.length);
    if (maxSize > 0) expect(await queue.size()).toBeLessThanOrEqual(maxSize);
  }
  await queue.close();
  model.closed = true;
  model.settle(clock.monotonicMs());
  const left: unknown[] = [];
  for await (const { payload } of queue) left.push(payload);
  expect(left).toEqual(model.items);
  expect(outcomes).toEqual(model.outcomes);
  expect(clock.pendingTimers).toBe(0);
}

it('runtime RT-1: any sequence of calls ends as in the model: nothing lost, doubled or reordered', async () => {
  await fc.assert(fc.asyncProperty(fc.integer({ min: 0, max: 3 }), fc.array(step, { maxLength: 60 }), run), {
    seed: 20260101,
    numRuns: 400,
  });
});
