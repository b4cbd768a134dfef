import { type DynamicModule, Module, type ModuleMetadata, type Provider, type Type } from '@nestjs/common';
import type { Aggregator } from '../aggregator.js';
import type { JobProcessor } from '../processor.js';
import { optionInvalid } from '../refusals.js';
import type { BulkProcessorClass } from './decorators.js';
import { checkEngineName } from './options.js';

/** A processor, or a class that Nest makes one of: with a member `type`, or under `@BulkProcessor`. */
export type ProcessorSource =
  | JobProcessor<never, unknown>
  | Type<JobProcessor<never, unknown>>
  | BulkProcessorClass;

/** An aggregator, or a class that Nest makes one of. */
export type AggregatorSource = Aggregator | Type<Aggregator>;

/** Where what is registered belongs. */
export interface RegistrationOptions extends Pick<ModuleMetadata, 'imports'> {
  /** The `name` of the engine, where an application has several. */
  readonly engine?: string | undefined;
}

/** What a feature module brings; found by discovery. */
export class Registration {
  readonly kind: 'processors' | 'aggregators';
  readonly engine: string | undefined;
  readonly brought: readonly object[];

  /**
   * @param kind - what is brought.
   * @param engine - the name of the engine it is for.
   * @param brought - the instances.
   */
  constructor(kind: Registration['kind'], engine: string | undefined, brought: readonly object[]) {
    this.kind = kind;
    this.engine = engine;
    this.brought = brought;
  }
}

/**
 * A module that brings something for the engine.
 * @param kind - what.
 * @param sources - instances, and classes that Nest is to make.
 * @param options - see RegistrationOptions; `imports`: modules whose exports the classes inject.
 * @returns a module that exports the classes.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function featureModule(
  kind: Registration['kind'],
  sources: readonly (ProcessorSource | AggregatorSource)[],
  { engine, imports = [] }: RegistrationOptions = {},
): DynamicModule {
  const owner = kind === 'processors' ? 'registerProcessors' : 'registerAggregators';
  checkEngineName(engine, owner);
  if (!Array.isArray(sources)) throw optionInvalid(owner, kind, 'a list of instances and classes', sources);
  for (const source of sources)
    if (typeof source !== 'function' && (typeof source !== 'object' || source === null))
      throw optionInvalid(owner, kind, 'a list of instances and classes', source);
  // A class for each call: before version 11 Nest takes modules of one class for one where their metadata reads the same, and
  // instances are not read.
  class BulkActionFeatureModule {}
  Module({})(BulkActionFeatureModule);
  const classes = sources.filter((source): source is Type<object> => typeof source === 'function');
  const registration: Provider = {
    provide: Registration,
    inject: classes,
    useFactory: (...made: object[]) => {
      const rest = made.values();
      const brought = sources.map((source) =>
        typeof source === 'function' ? (rest.next().value as object) : source,
      );
      return new Registration(kind, engine, brought);
    },
  };
  return {
    module: BulkActionFeatureModule,
    imports,
    providers: [...new Set(classes), registration],
    exports: [...new Set(classes)],
  };
}
