import { AsyncUtilsModule, Retryable, Timeout } from '@millrace/async-utils/nestjs';
import { expect, it } from 'vitest';
import { boot } from '../boot.js';
import { decoratorSuite } from '../decorators-suite.js';
import { limitSuite } from '../limits-suite.js';

decoratorSuite('standard');
limitSuite('standard');

class Discreet {
  calls = 0;

  work(): Promise<number> {
    return this.#work();
  }

  @Retryable({ backoff: () => 0 })
  async #work(): Promise<number> {
    if (++this.calls < 9) throw new Error('not yet');
    return this.calls;
  }
}

it('async-utils FR-013: a private method can be decorated and has the settings of the module', async () => {
  const app = await boot({
    imports: [AsyncUtilsModule.forRoot({ retry: { retries: 8 } })],
    providers: [Discreet],
  });
  expect(await app.get(Discreet).work()).toBe(9);
});

it('async-utils FR-014: a decorator on a field is refused', () => {
  expect(() => {
    class Wrong {
      // @ts-expect-error not a method
      @Timeout(5)
      work = async () => {};
    }
    return Wrong;
  }).toThrow(/@Timeout must stand on a method, got field/);
});
