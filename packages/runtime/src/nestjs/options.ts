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
import { type ModuleAsyncOptions, nestLogger } from '@millrace/foundation/nestjs';
import type { ConfigurableModuleOptionsFactory } from '@nestjs/common';
import type { QueueConfig } from '../options.js';
import type { Queue } from '../ports.js';

/**
 * The source of a queue. A configuration makes one in memory, which the module drains and closes at shutdown. A queue,
 * or a function that returns one, is not closed: closing a queue in Redis closes it for all processes.
 */
export type QueueSource = QueueConfig | Queue<unknown> | (() => Queue<unknown> | Promise<Queue<unknown>>);

/** Options of RuntimeModule. */
export interface RuntimeModuleOptions {
  /** The queues of the application by name (none). */
  readonly queues?: Readonly<Record<string, QueueSource>> | undefined;
  /** How long shutdown waits for queues and handlers before the handlers' signals abort (30000). */
  readonly drainTimeoutMs?: number | undefined;
  /** Receives failures (Nest's own logger). */
  readonly log?: Logger | undefined;
  /** The clock of queues, pauses and the drain (the machine's). */
  readonly clock?: Clock | undefined;
}

/** RuntimeModuleOptions with the defaults in place, frozen. */
export interface ResolvedRuntimeModuleOptions {
  readonly queues: Readonly<Record<string, QueueSource>>;
  readonly drainTimeoutMs: number;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The names of the queues, which must be known before the options are so that they can be injected. */
export interface QueueNames {
  /** The queues that the options will have (none). */
  readonly queueNames?: readonly string[] | undefined;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export type RuntimeOptionsFactory = ConfigurableModuleOptionsFactory<
  RuntimeModuleOptions,
  'createRuntimeOptions'
>;

/** The source of the options of `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export type RuntimeModuleAsyncOptions = ModuleAsyncOptions<
  RuntimeModuleOptions,
  'createRuntimeOptions',
  QueueNames
>;

/** Injection token of the application's ResolvedRuntimeModuleOptions. */
export const RUNTIME_OPTIONS = Symbol('RUNTIME_OPTIONS');

/** The injection token of a queue. */
export const queueToken = (name: string): symbol => Symbol.for(`@millrace/runtime queue ${name}`);

/** The defaults of RuntimeModuleOptions. */
export const RUNTIME_DEFAULTS: ResolvedRuntimeModuleOptions = Object.freeze({
  queues: Object.freeze({}),
  drainTimeoutMs: 30_000,
  log: nestLogger('Millrace'),
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

/** Validates and completes the options. */
export const resolveRuntimeOptions = (options: RuntimeModuleOptions): ResolvedRuntimeModuleOptions =>
  resolveOptions<ResolvedRuntimeModuleOptions>(
    { owner: OWNER, defaults: RUNTIME_DEFAULTS, rules: RULES },
    options as ResolvedRuntimeModuleOptions,
  );

/** Rejects options whose queues are not exactly those that `queueNames` announced. */
export function checkQueueNames({ queues }: ResolvedRuntimeModuleOptions, names: readonly string[]): void {
  const given = Object.keys(queues);
  if (given.toSorted().join() === names.toSorted().join()) return;
  const expected = `those that queueNames announces (${names.join(', ') || 'none'})`;
  throw invalid('queues', expected, given.join(', ') || 'none');
}

/** The error for a bad option of the module or of a decorator. */
export const invalid = (option: string, expected: string, given: unknown, owner = OWNER) =>
  ERRORS.create('OPTION_INVALID', { owner, option, expected, given: printable(given) });
