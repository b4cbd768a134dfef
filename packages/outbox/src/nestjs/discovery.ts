import { optionInvalid } from '@millrace/foundation';
import { Inject } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { TaskContext } from '../define-dag.js';
import type { TaskRun } from '../rules/task-settings.js';
import { type MarkedMethod, markedMethods, type TaskMark } from './decorators.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A decorated method of a provider. */
export interface FoundTask extends TaskMark {
  readonly run: TaskRun;
  /** Its name in messages. */
  readonly origin: string;
}

/** Finds `@OutboxTask` in the modules of an application. */
export class TaskDiscovery {
  readonly #discovery: DiscoveryService;

  constructor(discovery: DiscoveryService) {
    this.#discovery = discovery;
  }

  /**
   * Lists all methods that run tasks. An instance counts once, however often it is provided.
   * @throws MillraceError `OPTION_INVALID` for a method of a provider that Nest makes per request or per use.
   */
  find(): readonly FoundTask[] {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()] as Wrapper[];
    const seen = new Set<object>();
    return wrappers.flatMap((wrapper) => {
      const instance = singleton(wrapper);
      if (!instance || seen.has(instance)) return [];
      seen.add(instance);
      const from = wrapper.host?.name ?? 'an unknown module';
      return [...markedMethods(Object.getPrototypeOf(instance))].map((marked) =>
        foundIn(instance, marked, from),
      );
    });
  }
}

Inject(DiscoveryService)(TaskDiscovery, undefined, 0);

function foundIn(instance: object, { dag, key, method }: MarkedMethod, from: string): FoundTask {
  const owner = instance as Record<PropertyKey, (context: TaskContext) => unknown>;
  return {
    dag,
    key,
    // Looked up at every call, because a test may have replaced it by a spy.
    run: (context: TaskContext) => owner[method]?.(context),
    origin: `${instance.constructor?.name}.${String(method)} of ${from}`,
  };
}

/** Returns the single instance of a provider, or undefined if there is none or it is no object. */
function singleton(wrapper: Wrapper): object | undefined {
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    const [marked] = markedMethods(wrapper.metatype?.prototype ?? null);
    if (marked)
      throw optionInvalid(
        '@OutboxTask',
        `${String(wrapper.name)}.${String(marked.method)}`,
        'a method of a provider with one instance',
        'one made per request or per use',
      );
    return undefined;
  }
  const { instance } = wrapper as { readonly instance: unknown };
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}
