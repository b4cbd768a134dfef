import { Inject } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import type { Aggregator } from '../aggregator.js';
import { className, type JobProcessor } from '../processor.js';
import { optionInvalid } from '../refusals.js';
import { markOf, processorOf } from './decorators.js';
import { Registration } from './registration.js';
import { JOB_AGGREGATOR, JOB_PROCESSOR } from './tokens.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Something for an engine, and who brings it. */
export interface Found<T> {
  readonly value: T;
  /** As messages name it. */
  readonly origin: string;
  readonly engine: string | undefined;
}

/** Everything that the modules of an application bring for its engines. */
export interface AllFound {
  readonly processors: readonly Found<JobProcessor<never, unknown>>[];
  readonly aggregators: readonly Found<Aggregator>[];
}

/** Looks through the modules of an application. */
export class BulkActionDiscovery {
  readonly #discovery: DiscoveryService;
  readonly #modules: ModulesContainer;

  /**
   * Called by Nest.
   * @param discovery - of the application.
   * @param modules - of the application.
   */
  constructor(discovery: DiscoveryService, modules: ModulesContainer) {
    this.#discovery = discovery;
    this.#modules = modules;
  }

  /**
   * All processors and aggregators, each instance once however often it is provided.
   * @throws MillraceError `OPTION_INVALID` for a processor that Nest makes per request or per use.
   */
  find(): AllFound {
    const processors = new Map<object, Found<JobProcessor<never, unknown>>>();
    const aggregators = new Map<object, Found<Aggregator>>();
    // Registrations first: they may say for which engine, and the classes they name are providers too.
    const all = (this.#discovery.getProviders() as Wrapper[]).map((wrapper) => [
      ...broughtBy(wrapper, this.#modules),
    ]);
    for (const explicit of [true, false])
      for (const { kind, instance, engine, from } of all.flat().filter((one) => one.explicit === explicit)) {
        const origin = `${className(instance)} of ${from}`;
        if (kind === 'aggregators') {
          const value = instance as Aggregator;
          if (!aggregators.has(instance)) aggregators.set(instance, { value, origin, engine });
        } else if (!processors.has(instance))
          processors.set(instance, { value: processorOf(instance), origin, engine });
      }
    return { processors: [...processors.values()], aggregators: [...aggregators.values()] };
  }
}

Inject(DiscoveryService)(BulkActionDiscovery, undefined, 0);
Inject(ModulesContainer)(BulkActionDiscovery, undefined, 1);

interface Brought {
  readonly kind: Registration['kind'];
  readonly instance: object;
  readonly engine: string | undefined;
  readonly from: string;
  readonly explicit: boolean;
}

function* broughtBy(wrapper: Wrapper, modules: ModulesContainer): Generator<Brought> {
  const instance = singleton(wrapper);
  if (instance === undefined) return;
  if (instance instanceof Registration) {
    const { kind, brought } = instance;
    // Who imports the registration is more of a name than the module that it is.
    const from =
      [...modules.values()].find(({ imports }) => imports.has(wrapper.host as never))?.name ?? UNKNOWN;
    for (const one of brought) {
      const engine = instance.engine ?? markOf(one.constructor)?.options.engine;
      yield { kind, instance: one, engine, from, explicit: true };
    }
    return;
  }
  const from = wrapper.host?.name ?? UNKNOWN;
  const kind = KINDS.get(wrapper.token);
  if (kind)
    for (const one of [instance].flat())
      yield { kind, instance: one as object, engine: undefined, from, explicit: false };
  const mark = markOf(instance.constructor);
  if (mark) yield { kind: 'processors', instance, engine: mark.options.engine, from, explicit: false };
}

const UNKNOWN = 'an unknown module';

const KINDS = new Map<unknown, Registration['kind']>([
  [JOB_PROCESSOR, 'processors'],
  [JOB_AGGREGATOR, 'aggregators'],
]);

/** The one instance behind a provider; undefined when there is none, or it is no object. */
function singleton(wrapper: Wrapper): object | undefined {
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    if (markOf(wrapper.metatype) || KINDS.has(wrapper.token))
      throw optionInvalid(
        '@BulkProcessor',
        String(wrapper.name),
        'a provider with one instance',
        'one made per request or per use',
      );
    return undefined;
  }
  const { instance } = wrapper as { readonly instance: unknown };
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}
