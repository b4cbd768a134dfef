import { latch, ManualClock, recordingLogger, until } from '@millrace/testkit';
import { type FactoryProvider, type ModuleMetadata, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, vi } from 'vitest';
import { InMemoryQueue } from '../../src/memory/queue.js';
import type { QueueItem } from '../../src/model.js';
import {
  InjectQueue,
  QueueWorker,
  QueueWorkers,
  queueToken,
  RUNTIME_OPTIONS,
  RuntimeModule,
  type RuntimeModuleOptions,
} from '../../src/nestjs/index.js';
import type { Queue } from '../../src/ports.js';
import { boot, decorateLegacy, rootModule } from './boot.js';

/** A provider that keeps what its worker gave it; `gate` holds the items up. */
function mailer() {
  class Mailer {
    readonly sent: number[] = [];
    readonly events: string[] = [];
    gate: Promise<unknown> = Promise.resolve();

    async send({ payload }: QueueItem<number>): Promise<void> {
      await this.gate;
      this.events.push('sent');
      this.sent.push(payload);
    }

    onApplicationBootstrap(): void {
      this.events.push('ready');
    }

    onModuleDestroy(): void {
      this.events.push('destroyed');
    }
  }
  return Mailer;
}

const start = (metadata: ModuleMetadata) =>
  NestFactory.createApplicationContext(rootModule(metadata), { abortOnError: false, logger: false });

describe('runtime RT-3: RuntimeModule.forRoot', () => {
  it('runtime RT-3: makes in-memory queues by name that can be injected', async () => {
    class Shop {
      constructor(readonly mail: Queue<number>) {}
    }
    InjectQueue('mail')(Shop, undefined, 0);
    const app = await boot({
      imports: [RuntimeModule.forRoot({ queues: { mail: { maxSize: 1 }, other: {} } })],
      providers: [Shop],
    });
    const { mail } = app.get(Shop);
    expect(mail).toBe(app.get(queueToken('mail')));
    expect(mail).not.toBe(app.get(queueToken('other')));
    await mail.put(1);
    await expect(mail.put(2, { timeoutMs: 0 })).rejects.toThrow('The queue mail holds 1 items');
  });

  it('runtime RT-3: a decorated method handles the items on its own instance', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail', { concurrency: 2 }));
    const app = await boot({
      imports: [RuntimeModule.forRoot({ queues: { mail: {} } })],
      providers: [Mailer, { provide: 'alias', useExisting: Mailer }],
    });
    const [worker, ...others] = app.get(QueueWorkers).workers;
    expect(others).toEqual([]);
    expect([worker?.state, worker?.config]).toMatchObject([
      'RUNNING',
      { name: 'Mailer.send', concurrency: 2 },
    ]);
    await app.get<Queue<number>>(queueToken('mail')).put(7);
    await until(() => app.get(Mailer).sent.length === 1, { what: 'the mail to be sent' });
    expect(app.get(Mailer).sent).toEqual([7]);
  });

  it('runtime RT-3: one method under two queues has two workers; a subclass has the inherited ones', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail'));
    decorateLegacy(Mailer, 'send', QueueWorker('letters', { name: 'postman' }));
    class Special extends Mailer {}
    const app = await boot({
      imports: [RuntimeModule.forRoot({ queues: { mail: {}, letters: {} } })],
      providers: [Special],
    });
    const names = app.get(QueueWorkers).workers.map(({ config }) => config.name);
    expect(names).toEqual(['Special.send', 'postman']);
  });

  it('runtime RT-3: workers start last, and drain and close their queue before anything else is destroyed', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail'));
    const app = await start({
      imports: [RuntimeModule.forRoot({ queues: { mail: {} } })],
      providers: [Mailer],
    });
    const queue = app.get<Queue<number>>(queueToken('mail'));
    const instance = app.get(Mailer);
    const gate = latch('the mails may go');
    instance.gate = gate.promise;
    for (const n of [1, 2, 3]) await queue.put(n);
    const closing = app.close();
    await until(() => queue.closed, { what: 'the queue to be closed' });
    await expect(queue.put(4)).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
    gate.open();
    await closing;
    expect(instance.events).toEqual(['ready', 'sent', 'sent', 'sent', 'destroyed']);
    expect(app.get(QueueWorkers).workers.map(({ state }) => state)).toEqual(['STOPPED']);
  });

  it('runtime RT-3: with enableShutdownHooks a signal drains too', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail'));
    const app = await start({
      imports: [RuntimeModule.forRoot({ queues: { mail: {} } })],
      providers: [Mailer],
    });
    const killed = latch<unknown>('Nest ended the process');
    // After its hooks Nest sends the signal again, for real; and nothing real is sent here to begin with.
    const kill = vi.spyOn(process, 'kill').mockImplementation((_pid, signal) => {
      killed.open(signal);
      return true;
    });
    app.enableShutdownHooks(['SIGUSR2']);
    const queue = app.get<Queue<number>>(queueToken('mail'));
    for (const n of [1, 2, 3]) await queue.put(n);
    process.emit('SIGUSR2', 'SIGUSR2');
    expect(await killed.wait()).toBe('SIGUSR2');
    kill.mockRestore();
    expect(app.get(Mailer).sent).toEqual([1, 2, 3]);
  });

  it('runtime RT-3: after drainTimeoutMs the handlers see an abort, and lost items are reported', async () => {
    const clock = new ManualClock();
    const { log, lines } = recordingLogger();
    const begun = latch('the handler runs');
    class Slow {
      async work(_item: QueueItem<number>, { signal }: { signal: AbortSignal }): Promise<void> {
        begun.open();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
    }
    decorateLegacy(Slow, 'work', QueueWorker('slow'));
    const app = await start({
      imports: [RuntimeModule.forRoot({ queues: { slow: {} }, drainTimeoutMs: 5000, clock, log })],
      providers: [Slow],
    });
    const queue = app.get<Queue<number>>(queueToken('slow'));
    await queue.put(1);
    await queue.put(2);
    await begun.wait();
    const closing = app.close();
    await clock.advance(5000);
    await closing;
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { queue: 'slow', items: 1 } });
    expect(clock.pendingTimers).toBe(0);
  });

  it('runtime RT-3: a handler that ignores its signal is left behind, and the shutdown ends', async () => {
    const clock = new ManualClock();
    const { log, lines } = recordingLogger();
    const begun = latch('the handler runs');
    class Deaf {
      work(): Promise<void> {
        begun.open();
        return new Promise(() => {});
      }
    }
    decorateLegacy(Deaf, 'work', QueueWorker('deaf'));
    const app = await start({
      imports: [RuntimeModule.forRoot({ queues: { deaf: {} }, drainTimeoutMs: 5000, clock, log })],
      providers: [Deaf],
    });
    await app.get<Queue<number>>(queueToken('deaf')).put(1);
    await begun.wait();
    const closing = app.close();
    await clock.advance(5000);
    await clock.advance(1000);
    await closing;
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { worker: 'Deaf.work' } });
  });

  it('runtime RT-3: a queue that was given, or came from a function, is used and not closed', async () => {
    const [given, made] = [new InMemoryQueue<number>(), new InMemoryQueue<number>()];
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('given'));
    decorateLegacy(Mailer, 'send', QueueWorker('made'));
    const app = await start({
      imports: [RuntimeModule.forRoot({ queues: { given, made: async () => made } })],
      providers: [Mailer],
    });
    await given.put(1);
    await made.put(2);
    await until(() => app.get(Mailer).sent.length === 2, { what: 'both mails to be sent' });
    await app.close();
    expect([given.closed, made.closed]).toEqual([false, false]);
    expect(app.get(QueueWorkers).workers.map(({ state }) => state)).toEqual(['STOPPED', 'STOPPED']);
  });

  it('runtime RT-3: an application that fails to start leaves no worker behind', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail'));
    class Broken {
      onModuleInit(): void {
        throw new Error('no database');
      }
    }
    await expect(
      start({
        imports: [RuntimeModule.forRoot({ queues: { mail: {} } })],
        providers: [Mailer, Broken],
      }),
    ).rejects.toThrow('no database');
  });
});

describe('runtime RT-3: RuntimeModule.forRootAsync', () => {
  const settings: FactoryProvider = { provide: 'settings', useFactory: async () => ({ maxSize: 3 }) };
  class Settings {
    createRuntimeOptions(): RuntimeModuleOptions {
      return { queues: { mail: {} } };
    }
  }
  class SettingsModule {}
  const imports = [
    { module: SettingsModule, providers: [settings, Settings], exports: ['settings', Settings] },
  ];

  it.each([
    [
      'useFactory',
      { inject: ['settings'], useFactory: (mail: object) => ({ queues: { mail } }), imports } as const,
    ],
    ['useClass', { useClass: Settings }],
    ['useExisting', { useExisting: Settings, imports }],
  ])('runtime RT-3: takes the options from %s', async (_, source) => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mail'));
    const app = await boot({
      imports: [RuntimeModule.forRootAsync({ ...source, queueNames: ['mail'] } as never)],
      providers: [Mailer],
    });
    expect(Object.keys(app.get(RUNTIME_OPTIONS).queues)).toEqual(['mail']);
    await app.get<Queue<number>>(queueToken('mail')).put(1);
    await until(() => app.get(Mailer).sent.length === 1, { what: 'the mail to be sent' });
  });

  it('runtime RT-3: queues that were not announced, and no source or two, are refused', async () => {
    const invalid = { code: 'OPTION_INVALID' };
    const useFactory = () => ({ queues: { mail: {} } });
    await expect(start({ imports: [RuntimeModule.forRootAsync({ useFactory })] })).rejects.toMatchObject(
      invalid,
    );
    expect(() => RuntimeModule.forRootAsync({})).toThrow(expect.objectContaining(invalid));
    expect(() => RuntimeModule.forRootAsync({ useFactory, useClass: Settings })).toThrow(
      expect.objectContaining(invalid),
    );
  });
});

describe('runtime RT-3: misuse', () => {
  const refused = (code: string) => expect.objectContaining({ code });

  it('runtime RT-3: bad options of the module are refused', () => {
    for (const options of [{ queues: 5 }, { queues: { mail: 5 } }, { drainTimeoutMs: -1 }, { log: {} }])
      expect(() => RuntimeModule.forRoot(options as never)).toThrow(refused('OPTION_INVALID'));
    expect(() => RuntimeModule.forRoot({ queue: {} } as never)).toThrow(refused('OPTION_UNKNOWN'));
  });

  it('runtime RT-3: bad options of a queue, and a function that gives none, end the start', async () => {
    for (const mail of [{ maxSize: -1 }, () => ({}) as never])
      await expect(start({ imports: [RuntimeModule.forRoot({ queues: { mail } })] })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      });
  });

  it('runtime RT-3: bad options of the decorator, or another place than a method, are refused', () => {
    expect(() => QueueWorker('')).toThrow(refused('OPTION_INVALID'));
    expect(() => QueueWorker('mail', { concurrency: 0 })).toThrow(refused('OPTION_INVALID'));
    expect(() => QueueWorker('mail', { retries: 1 } as never)).toThrow(refused('OPTION_UNKNOWN'));
    expect(() => (QueueWorker('mail') as (type: unknown) => void)(class {})).toThrow(
      refused('OPTION_INVALID'),
    );
  });

  it('runtime RT-3: an unknown queue or a provider made per request ends the start', async () => {
    const Mailer = mailer();
    decorateLegacy(Mailer, 'send', QueueWorker('mial'));
    const imports = [RuntimeModule.forRoot({ queues: { mail: {} } })];
    await expect(start({ imports, providers: [Mailer] })).rejects.toThrow(
      '@QueueWorker: Mailer.send must be for a queue of RuntimeModule (mail), got mial',
    );
    const Request = mailer();
    decorateLegacy(Request, 'send', QueueWorker('mail'));
    for (const scope of [Scope.REQUEST, Scope.TRANSIENT])
      await expect(
        start({ imports, providers: [{ provide: Request, useClass: Request, scope }] }),
      ).rejects.toThrow('on a provider with one instance');
  });

  it('runtime RT-3: getters of providers are not run by the discovery', async () => {
    const getter = vi.fn();
    class Lazy {
      get connection(): unknown {
        return getter();
      }
    }
    await boot({ imports: [RuntimeModule.forRoot()], providers: [Lazy] });
    expect(getter).not.toHaveBeenCalled();
  });
});
