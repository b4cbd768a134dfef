import { AsyncUtilsModule, ConcurrencyLimit } from '@millrace/async-utils/nestjs';
import { Controller, Get, Inject, Injectable, Scope } from '@nestjs/common';
import { expect, it } from 'vitest';
import { boot } from './boot.js';
import { Counter } from './counter.js';

const counter = new Counter();

@ConcurrencyLimit(1)
class Counted {
  async work(): Promise<void> {
    await counter.run();
  }

  @ConcurrencyLimit(1)
  async other(): Promise<void> {
    await counter.run();
  }
}
@Injectable({ scope: Scope.REQUEST })
class CountedPerRequest extends Counted {}
@Injectable({ scope: Scope.TRANSIENT })
class CountedPerUse extends Counted {}
@Injectable()
class User {
  constructor(@Inject(CountedPerUse) readonly own: CountedPerUse) {}
}
/** Scoped by what it depends on: Nest makes one for each request. */
@Controller()
class Dependent extends Counted {
  constructor(@Inject(CountedPerRequest) readonly needed: CountedPerRequest) {
    super();
  }

  @Get()
  get(): Promise<void> {
    return this.work();
  }
}

const start = () =>
  boot({
    // Their own number wins.
    imports: [AsyncUtilsModule.forRoot({ limit: { concurrency: 9 } })],
    controllers: [Dependent],
    providers: [CountedPerRequest, CountedPerUse, User, Counted, { provide: 'second', useClass: Counted }],
  });
const mostOf = (...instances: Counted[]) =>
  counter.mostOf(instances.flatMap((each) => [each.work(), each.work()]));

it('async-utils FR-015: instances per request share one limit per class and application', async () => {
  const [one, two] = [await start(), await start()];
  const make = (app: typeof one) => app.resolve(CountedPerRequest);
  const [first, second] = [await make(one), await make(one)];
  expect(await mostOf(first, second)).toBe(1);
  expect(await mostOf(first, second, await make(two))).toBe(2);
  expect(await mostOf(first, await one.resolve(CountedPerUse))).toBe(2);
  const calls = [first, second].flatMap((each) => [each.work(), each.other()]);
  expect(await counter.mostOf(calls)).toBe(2);
});

it('async-utils FR-015: so do transient ones, and a controller that is scoped by what it depends on', async () => {
  const app = await start();
  const instances = [app.get(User).own, await app.resolve(CountedPerUse), await app.resolve(CountedPerUse)];
  expect(new Set(instances).size).toBe(3);
  expect(await mostOf(...instances)).toBe(1);
  expect(await counter.mostOf([1, 2, 3].map(async () => app.inject('/')))).toBe(1);
});

it('async-utils FR-015: singletons of one class have a limit each', async () => {
  const app = await start();
  expect(await mostOf(app.get(Counted), app.get('second'))).toBe(2);
});
