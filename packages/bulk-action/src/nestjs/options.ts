import {
  anyOption,
  booleanOption,
  type Clock,
  type Logger,
  type OptionRule,
  objectOption,
  type Rng,
  resolveOptions,
  systemClock,
  systemRng,
  textOption,
} from '@millrace/foundation';
import { type ModuleAsyncOptions, nestLogger } from '@millrace/foundation/nestjs';
import type { ConfigurableModuleOptionsFactory } from '@nestjs/common';
import type { Aggregator } from '../aggregator.js';
import {
  BULK_ACTION_DEFAULTS,
  type BulkActionConfig,
  type ResolvedBulkActionConfig,
  resolveBulkActionConfig,
} from '../options.js';
import type { JobProcessor } from '../processor.js';
import type { ShippedProcessorsOptions } from '../processors/shipped-processors.js';
import type { RedisLocation } from '../redis-location.js';
import { optionInvalid, optionUnknown } from '../refusals.js';
import type { ThreadRunner } from '../thread-runner.js';

/** What BulkActionModule is told: the sections of the configuration, and what the engine is made of. Everything may be left out. */
export interface BulkActionModuleOptions extends BulkActionConfig {
  /**
   * Where groups and jobs are: `{ url }`, `{ host, port, password?, db? }`, `{ nodes }` or `{ client }`, each with `keyPrefix?`.
   * Without it they are in this process' memory and end with it.
   */
  readonly redis?: RedisLocation | undefined;
  /** Processors that exist already; classes go to `registerProcessors`. */
  readonly processors?: readonly JobProcessor<never, unknown>[] | undefined;
  /** Aggregators that exist already; classes go to `registerAggregators`. */
  readonly aggregators?: readonly Aggregator[] | undefined;
  /**
   * SEND_EMAIL, PUSH_NOTIFICATION and HTTP_REQUEST: their settings (from the environment), or false for none of them. Where the
   * application has a processor of such a type, that one runs the jobs.
   */
  readonly shippedProcessors?: ShippedProcessorsOptions | boolean | undefined;
  /** Told what happens (Nest's own logger). */
  readonly log?: Logger | undefined;
  /** Times everything (the machine's). */
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  /** Runs the processors that want a thread. */
  readonly threads?: ThreadRunner | undefined;
}

/** The options with their defaults in place. */
export interface ResolvedBulkActionModuleOptions {
  readonly config: ResolvedBulkActionConfig;
  readonly redis?: RedisLocation;
  readonly processors: readonly JobProcessor<never, unknown>[];
  readonly aggregators: readonly Aggregator[];
  readonly shippedProcessors: ShippedProcessorsOptions | boolean;
  readonly log: Logger;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly threads?: ThreadRunner;
}

/** A provider that makes the options, for `registerAsync({ useClass | useExisting })`. */
export type BulkActionOptionsFactory = ConfigurableModuleOptionsFactory<
  BulkActionModuleOptions,
  'createBulkActionOptions'
>;

/** Options of `registerAsync`. Exactly one of `useFactory`, `useClass` and `useExisting` makes the module's options. */
export type BulkActionModuleAsyncOptions = ModuleAsyncOptions<
  BulkActionModuleOptions,
  'createBulkActionOptions',
  EngineName
>;

/** Which engine, where an application has several. */
export interface EngineName {
  /** Its name; the engine without one is the application's usual one. */
  readonly name?: string | undefined;
}

const OWNER = 'BulkActionModule';

const instances = (of: string, where: string): OptionRule => ({
  expected: `a list of ${of}; classes go to ${where}`,
  accepts: (value) => Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null),
});

const RULES = {
  redis: objectOption('where Redis is: { url }, { host, port }, { nodes } or { client }'),
  processors: instances('processors', 'registerProcessors'),
  aggregators: instances('aggregators', 'registerAggregators'),
  shippedProcessors: anyOption(booleanOption(), objectOption('settings of the shipped processors')),
  log: objectOption('a Logger', 'debug', 'info', 'warn', 'error', 'child'),
  clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
  rng: objectOption('an Rng', 'next', 'integer', 'fork'),
  threads: objectOption('a ThreadRunner', 'submit'),
};
const DEFAULTS = {
  processors: [],
  aggregators: [],
  shippedProcessors: true,
  log: nestLogger('BulkAction'),
  clock: systemClock,
};
const KNOWN = [...Object.keys(BULK_ACTION_DEFAULTS), ...Object.keys(RULES)];
const engineName = textOption({ min: 1, max: 100 });

/**
 * Completes and checks the options.
 * @param options - what the application gave.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveModuleOptions(options: BulkActionModuleOptions = {}): ResolvedBulkActionModuleOptions {
  if (typeof options !== 'object' || options === null)
    throw optionInvalid(OWNER, 'the options', 'an object', options);
  const own: Record<string, unknown> = {};
  const sections: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    if (!KNOWN.includes(name)) throw optionUnknown(OWNER, '', name, KNOWN);
    (Object.hasOwn(RULES, name) ? own : sections)[name] = value;
  }
  const parts = resolveOptions<Omit<ResolvedBulkActionModuleOptions, 'config'>>(
    { owner: OWNER, defaults: DEFAULTS, rules: RULES as never },
    { ...own, rng: own.rng ?? systemRng() } as never,
  );
  return { ...parts, config: resolveBulkActionConfig(sections) };
}

/**
 * Checks the name of an engine.
 * @param name - what the application gave; none for its usual engine.
 * @param owner - for the message.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function checkEngineName(name: unknown, owner = OWNER): string | undefined {
  if (name === undefined || engineName.accepts(name)) return name as string | undefined;
  throw optionInvalid(owner, 'name', engineName.expected, name);
}
