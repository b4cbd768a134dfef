import 'reflect-metadata';
import { type DynamicModule, Inject, Module, Logger as NestLogger } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import { afterEach, expect, it } from 'vitest';
import { optionInvalid } from '../src/index.js';
import { nestLogger, optionsModule, providersFrom, startLast } from '../src/nestjs.js';

interface Given {
  readonly size?: number;
  readonly client?: object;
}
class Host {
  constructor(readonly options: Given) {}
}
const OPTIONS = Symbol('options');
const order: string[] = [];
afterEach(() => void order.splice(0));

class MillModule extends optionsModule({
  name: 'MillModule',
  token: OPTIONS,
  factoryMethod: 'createMillOptions',
  extras: ['label'],
  check({ size = 1, ...rest }: Given) {
    if (typeof size !== 'number') throw optionInvalid('MillModule', 'size', 'a number', size);
    return { size, ...rest };
  },
  define({ label = 'none' }: { label?: string }, checked) {
    const host = { provide: Host, inject: [OPTIONS], useFactory: (options: Given) => new Host(options) };
    const [size] = providersFrom(Host, [['size', ({ options }) => options.size]]);
    const known = { provide: 'known', useFactory: () => [label, checked?.size] };
    return { providers: [host, size as never, known], exports: [Host, 'size', 'known'] };
  },
}) {
  readonly count: number;
  constructor(modules: ModulesContainer) {
    super();
    this.count = startLast(modules, MillModule);
  }
  onModuleInit() {
    order.push('mill');
  }
}
Module({})(MillModule);
Inject(ModulesContainer)(MillModule, undefined, 0);

async function start(module: DynamicModule) {
  class Root {
    onModuleInit() {
      order.push('root');
    }
  }
  Module({ imports: [module] })(Root);
  return NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
}

it('gives the host the checked options, and starts after all others', async () => {
  const client: Record<string, unknown> = {};
  client.itself = client;
  const app = await start(MillModule.forRoot({ client, label: 'x' }));
  expect([app.get(Host).options, app.get('size')]).toEqual([{ size: 1, client }, 1]);
  expect([app.get('known'), app.get(MillModule).count]).toEqual([['x', 1], 1]);
  expect(order).toEqual(['root', 'mill']);
  await app.close();
});

class Source {
  createMillOptions(): Given {
    return { size: 7 };
  }
}
class SourceModule {}
Module({ providers: [Source, { provide: 'n', useValue: 7 }], exports: [Source, 'n'] })(SourceModule);
const imports = [SourceModule];
it.each([
  ['a factory', { imports, inject: ['n'], useFactory: async (size: number) => ({ size }) }],
  ['a class', { useClass: Source }],
  ['a provider', { imports, useExisting: Source }],
])('takes the options from %s', async (_, source) => {
  const app = await start(MillModule.registerAsync({ ...source, label: 'y' }));
  expect([app.get('size'), app.get('known')]).toEqual([7, ['y', undefined]]);
  await app.close();
});

it('rejects bad options at once, or at the start if they come later', async () => {
  const [bad, message] = [{ size: 'big' as never }, "MillModule: size must be a number, got 'big'"];
  expect(() => MillModule.register(bad)).toThrow(message);
  await expect(start(MillModule.forRootAsync({ useFactory: () => bad }))).rejects.toThrow(message);
  for (const source of [{}, { useClass: Source, useExisting: Source }])
    expect(() => MillModule.forRootAsync(source)).toThrow(
      'exactly one of useFactory, useClass and useExisting',
    );
});

it('nestLogger writes through the logger of the application, at the levels it has', () => {
  const written: unknown[] = [];
  const note = (...line: unknown[]) => void written.push(line);
  NestLogger.overrideLogger({ log: note, warn: note, error: note });
  nestLogger('Mill').child({ part: 'stone' }).info({ turns: 3 }, 'Ground');
  expect(written).toEqual([[{ message: 'Ground', part: 'stone', turns: 3 }, 'Mill']]);
  NestLogger.overrideLogger(['warn']);
  const { isLevelEnabled } = nestLogger('Mill');
  expect([isLevelEnabled?.('info'), isLevelEnabled?.('warn')]).toEqual([false, true]);
  NestLogger.overrideLogger(false);
});
