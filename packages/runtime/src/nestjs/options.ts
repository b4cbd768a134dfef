import {
  type Clock,
  durationOption,
  ERRORS,
  type Logger,
  type OptionRules,
  objectOption,
  printable,
  resolveOptions,
  systemClock,
} from '@millrace/foundation';
import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { QueueConfig } from '../options.js';
import type { Queue } from '../ports.js';
import { nestLogger } from './logger.js';

/**
 * Where a queue comes from: a configuration makes one in memory, which the module owns: it is drained and closed at
 * shutdown. A queue, or a function that gives one, stays the property of whoever gave it and is not closed: a queue
 * in Redis is closed for all processes.
 */
export type QueueSource = QueueConfig | Queue<unknown> | (() => Queue<unknown> | Promise<Queue<unknown>>);

/** What RuntimeModule is told; every key may be left out. */
export interface RuntimeModuleOptions {
  /** The queues of the application by name (none). */
  readonly queues?: Readonly<Record<string, QueueSource>> | undefined;
  /** How long shutdown waits for queues and handlers before the handlers' signals abort (30000). */
  readonly drainTimeoutMs?: number | undefined;
  /** Told of failures (Nest's own logger). */
  readonly log?: Logger | undefined;
  /** Times queues, pauses and the drain (the machine's). */
  readonly clock?: Clock | undefined;
}

/** RuntimeModuleOptions with the defaults in place, frozen. */
export interface ResolvedRuntimeModuleOptions {
  readonly queues: Readonly<Record<string, QueueSource>>;
  readonly drainTimeoutMs: number;
  readonly log: Logger;
  readonly clock: Clock;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export interface RuntimeOptionsFactory {
  /** Gives the options; called once, while the application starts. */
  createRuntimeOptions(): RuntimeModuleOptions | Promise<RuntimeModuleOptions>;
}

/** Where `forRootAsync` gets the options from: exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface RuntimeModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** The names of the queues that the options will hold: what can be injected is known before they are. */
  readonly queueNames?: readonly string[] | undefined;
  /** What `useFactory` is called with. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options. */
  readonly useFactory?:
    | ((...args: never[]) => RuntimeModuleOptions | Promise<RuntimeModuleOptions>)
    | undefined;
  /** A class that makes the options; the module creates it. */
  readonly useClass?: Type<RuntimeOptionsFactory> | undefined;
  /** The same, but the instance that the imported modules export is used. */
  readonly useExisting?: Type<RuntimeOptionsFactory> | undefined;
}

/** Injection token of the application's ResolvedRuntimeModuleOptions. */
export const RUNTIME_OPTIONS = Symbol('RUNTIME_OPTIONS');

/** The injection token of a queue. */
export const queueToken = (name: string): symbol => Symbol.for(`@millrace/runtime queue ${name}`);

/** The defaults of RuntimeModuleOptions. */
export const RUNTIME_DEFAULTS: ResolvedRuntimeModuleOptions = Object.freeze({
  queues: Object.freeze({}),
  drainTimeoutMs: 30_000,
  log: nestLogger,
  clock: systemClock,
});

const RULES: OptionRules<ResolvedRuntimeModuleOptions> = {
  queues: {
    expected: 'an object of queues by name, each a configuration, a Queue or a function that gives one',
    accepts: (value) =>
      objectOption('queues').accepts(value) &&
      Object.values(value as object).every(
        (source) => typeof source === 'function' || objectOption('queue').accepts(source),
      ),
  },
  drainTimeoutMs: durationOption(),
  log: objectOption('a Logger', 'debug', 'info', 'warn', 'error', 'child'),
  clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
};

const OWNER = 'RuntimeModule';

/** Completes and checks the options; with `names`, the queues must be exactly those. */
export function resolveRuntimeOptions(
  options: RuntimeModuleOptions,
  names?: readonly string[],
): ResolvedRuntimeModuleOptions {
  const resolved = resolveOptions<ResolvedRuntimeModuleOptions>(
    { owner: OWNER, defaults: RUNTIME_DEFAULTS, rules: RULES },
    options as ResolvedRuntimeModuleOptions,
  );
  const given = Object.keys(resolved.queues);
  if (names && given.toSorted().join() !== [...names].sort().join())
    throw invalid(
      'queues',
      `those that queueNames announces (${names.join(', ') || 'none'})`,
      given.join(', ') || 'none',
    );
  return resolved;
}

/** The error for a bad option of the module or of a decorator. */
export const invalid = (option: string, expected: string, given: unknown, owner = OWNER) =>
  ERRORS.create('OPTION_INVALID', { owner, option, expected, given: printable(given) });
