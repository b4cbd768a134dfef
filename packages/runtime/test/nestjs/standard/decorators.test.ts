import { ManualClock, until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { InMemoryQueue } from '../../../src/memory/queue.js';
import type { QueueItem } from '../../../src/model.js';
import { QueueWorker, queueToken, RuntimeModule } from '../../../src/nestjs/index.js';
import type { Queue } from '../../../src/ports.js';
import { Worker } from '../../../src/worker.js';
import { boot } from '../boot.js';

class Mailer {
  readonly sent: number[] = [];

  @QueueWorker('mail')
  async send({ payload }: QueueItem<number>): Promise<void> {
    this.sent.push(payload);
  }
}

it('runtime RT-3: @QueueWorker works under standard rules', async () => {
  const app = await boot({
    imports: [RuntimeModule.forRoot({ queues: { mail: {} } })],
    providers: [Mailer],
  });
  await app.get<Queue<number>>(queueToken('mail')).put(7);
  await until(() => app.get(Mailer).sent.length === 1, { what: 'the mail to be sent' });
  expect(app.get(Mailer).sent).toEqual([7]);
});

it('runtime RT-3: @worker.handle works under standard rules, on static and on instance methods', async () => {
  const clock = new ManualClock();
  const queue = new InMemoryQueue<number>({}, { clock });
  const ofClass = new Worker(queue, undefined, {}, { clock });
  const ofInstance = new Worker(queue, undefined, {}, { clock });
  class Printer {
    static readonly printed: number[] = [];
    readonly printed: number[] = [];

    @ofClass.handle
    static print({ payload }: QueueItem<number>): void {
      // biome-ignore lint/complexity/noThisInStatic: that `this` is the class is what the test shows
      this.printed.push(payload);
    }

    @ofInstance.handle
    print({ payload }: QueueItem<number>): void {
      this.printed.push(payload);
    }
  }
  const printer = new Printer();
  await ofClass.start();
  await queue.put(1);
  await clock.advance(0);
  await ofClass.stop();
  await ofInstance.start();
  await queue.put(2);
  await clock.advance(0);
  await ofInstance.stop();
  expect([Printer.printed, printer.printed]).toEqual([[1], [2]]);
});
