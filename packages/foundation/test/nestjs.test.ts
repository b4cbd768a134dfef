import 'reflect-metadata';
import { type DynamicModule, Inject, Module, Logger as NestLogger, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it } from 'vitest';
import { optionInvalid } from '../src/index.js';
import { nestLogger, optionsModule, providersFrom, startLast } from '../src/nestjs.js';

interface Given {
  readonly size?: number;
  readonly client?: object;
}

class Host {
  constructor(readonly options: { readonly size: number; readonly client: object | undefined }) {}
}
const LABEL = Symbol('label');

const OPTIONS = Symbol('options');
const Base = optionsModule({
  name: 'MillModule',
  token: OPTIONS,
  factoryMethod: 'createMillOptions',
  extras: ['label'],
  check({ size = 1, client, ...rest }: Given) {
    if (typeof size !== 'number') throw optionInvalid('MillModule', 'size', 'a number', size);
    expect(rest).toEqual({});
    return { size, client };
  },
  define({ label = 'none' }: { label?: string }, checked) {
    const host = { provide: Host, inject: [OPTIONS], useFactory: (options: never) => new Host(options) };
    const provided = providersFrom(Host, [['size', ({ options }) => options.size]]);
    const known = { provide: LABEL, useFactory: () => [label, checked?.size] };
    return {
      providers: [host, ...provided, known],
      exports: [Host, LABEL, ...provided.map(({ provide }) => provide)],
    };
  },
});
const order: string[] = [];
class MillModule extends Base implements OnModuleInit {
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
afterEach(() => void order.splice(0));

describe('optionsModule', () => {
  it('gives the host the checked options, and starts after all others', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const app = await start(MillModule.forRoot({ client: circular, label: 'x' }));
    expect(app.get(Host).options).toEqual({ size: 1, client: circular });
    expect([app.get('size'), app.get(LABEL), app.get(MillModule).count, order]).toEqual([
      1,
      ['x', 1],
      1,
      ['root', 'mill'],
    ]);
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
    for (const module of [
      MillModule.forRootAsync({ ...source, label: 'y' }),
      MillModule.registerAsync(source),
    ]) {
      const app = await start(module);
      expect(app.get('size')).toBe(7);
      await app.close();
    }
  });

  it('rejects bad options at once, or at the start if they come later', async () => {
    const bad = { size: 'big' as never };
    expect(() => MillModule.register(bad)).toThrow("MillModule: size must be a number, got 'big'");
    const starting = start(MillModule.forRootAsync({ useFactory: () => bad }));
    await expect(starting).rejects.toThrow("MillModule: size must be a number, got 'big'");
    for (const source of [{}, { useClass: Source, useExisting: Source }])
      expect(() => MillModule.forRootAsync(source)).toThrow(
        'exactly one of useFactory, useClass and useExisting',
      );
  });
});

it('nestLogger writes through the logger of the application, at the levels it has', () => {
  const written: unknown[] = [];
  const note = (...line: unknown[]) => void written.push(line);
  NestLogger.overrideLogger({ log: note, warn: note, error: note });
  const log = nestLogger('Mill').child({ part: 'stone' });
  log.info({ turns: 3 }, 'Ground');
  expect(written).toEqual([[{ message: 'Ground', part: 'stone', turns: 3 }, 'Mill']]);
  NestLogger.overrideLogger(['warn']);
  const { isLevelEnabled } = nestLogger('Mill');
  expect([isLevelEnabled?.('info'), isLevelEnabled?.('warn')]).toEqual([false, true]);
  NestLogger.overrideLogger(false);
});
