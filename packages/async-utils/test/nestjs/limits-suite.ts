import { setImmediate } from 'node:timers/promises';
import { ConcurrencyLimit, Retryable } from '@millrace/async-utils/nestjs';
import { describe, expect, it } from 'vitest';
import { times } from '../leftovers.js';
import { Counter } from './counter.js';

/** Tests of ConcurrencyLimit. This file is compiled by the rules of each decorator system. */
export function limitSuite(system: string): void {
  describe(`${system} ConcurrencyLimit on a method`, limiting);
  describe(`${system} ConcurrencyLimit on a class`, sharing);
}

function limiting(): void {
  class Limited {
    @ConcurrencyLimit(2)
    async work(counter: Counter): Promise<void> {
      await counter.run();
    }

    @ConcurrencyLimit(1)
    async other(counter: Counter): Promise<void> {
      await counter.run();
    }
  }
  const counter = new Counter();

  it('async-utils FR-015: each method of each instance runs at most its number at once', async () => {
    const [one, two] = [new Limited(), new Limited()];
    expect(await counter.mostOf(times(5, () => one.work(counter)))).toBe(2);
    const calls = [one, two].flatMap((each) =>
      times(3, () => [each.work(counter), each.other(counter)]).flat(),
    );
    expect(await counter.mostOf(calls)).toBe(6);
  });

  it('async-utils FR-015: a method called without an object is limited as well', async () => {
    const { other } = new Limited();
    expect(await counter.mostOf([other(counter), other(counter)])).toBe(1);
  });
}

function sharing(): void {
  @ConcurrencyLimit(2)
  class Shared {
    readonly order: string[] = [];

    constructor(readonly counter = new Counter()) {}

    async first(): Promise<void> {
      await this.counter.run();
    }

    // Not declared async: only the result of a call tells that such a method returns a promise.
    second(): Promise<void> {
      return this.counter.run();
    }

    @Retryable()
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

    async neighbours(): Promise<unknown> {
      return Promise.all([this.first(), this.second()]);
    }

    async leave(until: Promise<void>, left: Promise<void>[]): Promise<void> {
      left.push(until.then(() => this.first()));
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

  it('async-utils FR-015: one limit is shared by all methods of an instance, two instances do not share', async () => {
    const counter = new Counter();
    const [one, two] = [new Shared(counter), new Shared(counter)];
    const calls = (each: Shared) => [each.second(), each.first(), each.third(), each.second(), each.first()];
    expect(await counter.mostOf(calls(one))).toBe(2);
    expect(await counter.mostOf([...calls(one), ...calls(two)])).toBe(4);
  });

  it('async-utils FR-015: a method with its own number has its own limit, one with a priority goes first', async () => {
    const shared = new Shared();
    const own = [...times(3, () => shared.first()), ...times(4, () => shared.own())];
    expect(await shared.counter.mostOf(own)).toBe(5);
    const calls = [shared.first(), shared.first(), shared.patient(), shared.urgent()];
    await shared.counter.mostOf(calls);
    expect(shared.order).toEqual(['urgent', 'patient']);
  });

  it('async-utils SC-006: synchronous methods, getters and lifecycle hooks wait for no slot', async () => {
    const shared = new Shared();
    const busy = times(3, () => shared.first());
    const refused = expect(shared.refusing(), 'its first call runs at once').rejects.toThrow('refused');
    expect([shared.sum(1, 2), shared.total]).toEqual([3, 3]);
    await setImmediate();
    await shared.onModuleDestroy();
    await shared.counter.mostOf(busy);
    await refused;
  });

  it('async-utils FR-015: calls of neighbours take turns in the slot of their caller', async () => {
    const shared = new Shared();
    expect(await shared.counter.mostOf([shared.neighbours()])).toBe(1);
    expect(await shared.counter.mostOf(times(4, () => shared.neighbours()))).toBe(2);
  });

  it('async-utils FR-015: work that a call leaves behind waits for a slot of its own', async () => {
    const shared = new Shared();
    const left: Promise<void>[] = [];
    const later = new Promise<void>((resolve) => setTimeout(resolve, 5));
    await Promise.all(times(3, () => shared.leave(later, left)));
    expect(await shared.counter.mostOf(left)).toBe(2);
  });

  it('async-utils FR-015: a subclass inherits the limit, and its own methods are free', async () => {
    class Child extends Shared {
      async unlimited(): Promise<void> {
        await this.counter.run();
      }

      override async first(): Promise<void> {
        await super.first();
      }
    }
    const child = new Child();
    const { counter } = child;
    expect(await counter.mostOf(times(3, () => child.second()))).toBe(2);
    expect(await counter.mostOf(times(3, () => child.first()))).toBe(2);
    expect(await counter.mostOf(times(3, () => child.unlimited()))).toBe(3);
  });

  it('async-utils FR-015: inherited methods take part in the nearest limit, and only there', async () => {
    class Plain {
      readonly counter = new Counter();

      async inherited(): Promise<void> {
        await this.counter.run();
      }

      @Retryable()
      async decorated(): Promise<void> {
        await this.counter.run();
      }
    }
    @ConcurrencyLimit(1)
    class Limited extends Plain {}
    class Sister extends Plain {}
    @ConcurrencyLimit(3)
    class Relimited extends Limited {}

    const mostOf = (each: Plain) =>
      each.counter.mostOf(times(4, (index) => (index % 2 ? each.inherited() : each.decorated())));
    expect(await mostOf(new Limited())).toBe(1);
    expect(await mostOf(new Sister())).toBe(4);
    expect(await mostOf(new Relimited())).toBe(3);
  });
}
