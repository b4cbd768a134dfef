/**
 * Shared parts of the NestJS modules: options from a value, a factory or a provider, providers taken from one host, and
 * Nest's logger. Works with NestJS 10, 11 and 12.
 *
 * @packageDocumentation
 */
import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Logger as NestLogger,
  type Provider,
  type Type,
} from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { optionInvalid } from './errors.js';
import { type LevelledLogger, loggerOver } from './logger.js';

/** The definition of a module that takes options. */
export interface ModulePlan<Given, Checked, Extras extends object, FactoryMethod extends string> {
  /** Class name of the module. Errors start with it. */
  readonly name: string;
  /** Injection token of the checked options. */
  readonly token: symbol;
  /** Name of the method of a provider that makes the options, for `useClass` and `useExisting`. */
  readonly factoryMethod: FactoryMethod;
  /** Keys that must be known before the options are. In `forRootAsync` they stand beside `useFactory`. */
  readonly extras: readonly (keyof Extras & string)[];
  /** Validates the options and completes them. Runs at once for `forRoot`, at the start of the application otherwise. */
  check(given: Given, extras: Partial<Extras>): Checked;
  /**
   * Defines the module, which is global.
   * @param checked - undefined if the options are not known yet.
   */
  define(extras: Partial<Extras>, checked: Checked | undefined): Omit<DynamicModule, 'module' | 'global'>;
}

/** The source of the options of `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export type ModuleAsyncOptions<
  Given,
  FactoryMethod extends string,
  Extras extends object = object,
> = ConfigurableModuleAsyncOptions<Given, FactoryMethod> & Partial<Extras>;

/** The base class of a module that takes options. */
export interface OptionsModule<Given, Extras extends object, FactoryMethod extends string> {
  new (): object;
  /** Defines the module with options known now. @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  forRoot(options?: Given & Partial<Extras>): DynamicModule;
  /**
   * Defines the module with options that other providers make. Invalid ones fail the start of the application.
   * @throws MillraceError `OPTION_INVALID` unless there is exactly one source.
   */
  forRootAsync(options: ModuleAsyncOptions<Given, FactoryMethod, Extras>): DynamicModule;
  /** The same as `forRoot`. */
  register(options?: Given & Partial<Extras>): DynamicModule;
  /** The same as `forRootAsync`. */
  registerAsync(options: ModuleAsyncOptions<Given, FactoryMethod, Extras>): DynamicModule;
}

/** Makes the base class of a module that takes options, which it checks and provides under `plan.token`. */
export function optionsModule<Given, Checked, Extras extends object, FactoryMethod extends string>(
  plan: ModulePlan<Given, Checked, Extras, FactoryMethod>,
): OptionsModule<Given, Extras, FactoryMethod> {
  type Async = ModuleAsyncOptions<Given, FactoryMethod, Extras>;
  const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<Given>({
    optionsInjectionToken: plan.token,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName(plan.factoryMethod)
    .build();

  function forRoot(this: Type, options: unknown = {}): DynamicModule {
    const [extras, rest] = split<Extras>(plan.extras, options);
    const checked = plan.check(rest as Given, extras);
    // A factory: before version 11, Nest serialises what it gets as `useValue`, including a database client.
    const source = { useFactory: () => checked as never };
    return combine(this, ConfigurableModuleClass.forRootAsync(source), plan.define(extras, checked));
  }

  function forRootAsync(this: Type, options: Async): DynamicModule {
    const { useFactory, useClass, useExisting } = options;
    const sources = Object.entries({ useFactory, useClass, useExisting }).filter(([, source]) => source);
    if (sources.length !== 1) {
      const given = sources.map(([name]) => name).join(', ') || 'none';
      const expected = 'exactly one of useFactory, useClass and useExisting';
      throw optionInvalid(plan.name, 'the source', expected, given);
    }
    const [extras, rest] = split<Extras>(plan.extras, options);
    const definition = ConfigurableModuleClass.forRootAsync(rest as Async);
    const checked = (provider: Provider): Provider => {
      const { provide, useFactory: make, ...others } = provider as FactoryProvider;
      if (provide !== plan.token) return provider;
      return { provide, ...others, useFactory: async (...args) => plan.check(await make(...args), extras) };
    };
    const providers = definition.providers?.map(checked) ?? [];
    return combine(this, { ...definition, providers }, plan.define(extras, undefined));
  }

  class Base {}
  const statics = { forRoot, forRootAsync, register: forRoot, registerAsync: forRootAsync };
  return Object.assign(Base, statics) as never;
}

/** Divides options into those known before the others and the rest. What is no object is left to the check. */
function split<Extras>(keys: readonly string[], options: unknown): [extras: Partial<Extras>, rest: unknown] {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return [{}, options];
  const entries = Object.entries(options);
  const pick = (isExtra: boolean) => entries.filter(([key]) => keys.includes(key) === isExtra);
  return [Object.fromEntries(pick(true)) as Partial<Extras>, Object.fromEntries(pick(false))];
}

const combine = (module: Type, one: DynamicModule, other: Omit<DynamicModule, 'module'>): DynamicModule => ({
  ...other,
  module,
  global: true,
  imports: [...(one.imports ?? []), ...(other.imports ?? [])],
  providers: [...(one.providers ?? []), ...(other.providers ?? [])],
});

/** Makes a provider for each token, which reads its value from one host. */
export const providersFrom = <H>(
  host: InjectionToken & { readonly prototype: H },
  values: readonly (readonly [InjectionToken, (host: H) => unknown])[],
): FactoryProvider[] => values.map(([provide, useFactory]) => ({ provide, inject: [host], useFactory }));

/**
 * Lets a module start after all others and stop before them. Nest starts the modules farthest from the root first and
 * stops them last, so this moves the module in front of the root.
 * @returns how often the application imports the module.
 */
export function startLast(modules: ModulesContainer, metatype: unknown): number {
  const found = [...modules.values()].filter((module) => module.metatype === metatype);
  for (const module of found) module.distance = -1;
  return found.length;
}

/** Makes a Logger that writes to the logger of the Nest application, under the name `context`. */
export const nestLogger = (context: string): LevelledLogger =>
  loggerOver(new NestLogger(context), (level) => NestLogger.isLevelEnabled(level === 'info' ? 'log' : level));
