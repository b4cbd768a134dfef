import 'reflect-metadata';
import { type DynamicModule, Inject, Module, Logger as NestLogger } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import { expect, it, vi } from 'vitest';
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
    const size = providersFrom(Host, [['size', ({ options }) => options.size]]);
    const known = { provide: 'known', useFactory: () => [label, checked?.size] };
    return { providers: [host, ...size, known] };
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

it('gives the host the checked options, given now or made later, and starts after all others', async () => {
  const client: Record<string, unknown> = {};
  client.itself = client;
  const later = MillModule.registerAsync({ useFactory: async () => ({ client }), label: 'y' });
  for (const [module, known] of [
    [MillModule.forRoot({ client, label: 'x' }), ['x', 1]],
    [later, ['y', undefined]],
  ] as const) {
    const app = await start(module);
    expect([app.get(Host).options, app.get('size')]).toEqual([{ size: 1, client }, 1]);
    expect([app.get('known'), app.get(MillModule).count]).toEqual([known, 1]);
    expect(order.splice(0)).toEqual(['root', 'mill']);
    await app.close();
  }
});

it('rejects bad options at once, or at the start if they come later', async () => {
  const [bad, message] = [{ size: 'big' as never }, "MillModule: size must be a number, got 'big'"];
  expect(() => MillModule.register(bad)).toThrow(message);
  await expect(start(MillModule.forRootAsync({ useFactory: () => bad }))).rejects.toThrow(message);
  const expected = 'exactly one of useFactory, useClass and useExisting';
  for (const source of [{}, { useClass: Host, useExisting: Host }])
    expect(() => MillModule.forRootAsync(source as never)).toThrow(expected);
});

it('nestLogger writes through the logger of the application, at the levels it has', () => {
  const [log, others] = [vi.fn(), vi.fn()];
  NestLogger.overrideLogger({ log, warn: others, error: others });
  nestLogger('Mill').child({ part: 'stone' }).info({ turns: 3 }, 'Ground');
  expect(log.mock.calls).toEqual([[{ message: 'Ground', part: 'stone', turns: 3 }, 'Mill']]);
  NestLogger.overrideLogger(['warn']);
  const { isLevelEnabled } = nestLogger('Mill');
  expect([isLevelEnabled?.('info'), isLevelEnabled?.('warn')]).toEqual([false, true]);
  NestLogger.overrideLogger(false);
});
