import { sleep } from '@millrace/foundation';
import { Inject } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { WorkerConfig } from '../options.js';
import { Worker } from '../worker.js';
import { marksOf, type QueueWorkerMark } from './decorators.js';
import { invalid, type ResolvedRuntimeModuleOptions, RUNTIME_OPTIONS } from './options.js';
import { type NamedQueue, RuntimeQueues } from './queues.js';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = ReturnType<Module['controllers']['values']> extends Iterable<infer W> ? W : never;

/** How long a handler has between the abort of its signal and the end of the shutdown's patience. */
const ABORT_GRACE_MS = 1_000;

interface Placed {
  readonly name: string;
  readonly worker: Worker<unknown>;
  readonly on: NamedQueue;
}

/** The workers that `@QueueWorker` asked for, of one application. */
export class QueueWorkers {
  readonly #modules: ModulesContainer;
  readonly #queues: RuntimeQueues;
  readonly #options: ResolvedRuntimeModuleOptions;
  #placed: readonly Placed[] = [];

  constructor(modules: ModulesContainer, queues: RuntimeQueues, options: ResolvedRuntimeModuleOptions) {
    this.#modules = modules;
    this.#queues = queues;
    this.#options = options;
  }

  /** The workers, for health checks and metrics. */
  get workers(): readonly Worker<unknown>[] {
    return this.#placed.map(({ worker }) => worker);
  }

  /**
   * Makes a worker for every decorated method.
   * @throws MillraceError `OPTION_INVALID` when a queue does not exist or the class is not a singleton.
   */
  discover(): void {
    // A set: an alias (`useExisting`) shows the same instance again.
    const instances = new Set<object>();
    for (const module of this.#modules.values())
      for (const wrappers of [module.providers, module.controllers, module.injectables])
        for (const wrapper of wrappers.values()) {
          const instance = singleton(wrapper as Wrapper);
          if (instance) instances.add(instance);
        }
    this.#placed = [...instances].flatMap((instance) =>
      [...markedMethods(instance)].map(([key, mark]) => this.#place(instance, key, mark)),
    );
  }

  /** Starts all workers. */
  async start(): Promise<void> {
    await Promise.all(this.#placed.map(({ worker }) => worker.start()));
  }

  /**
   * Closes the queues that the module made and lets their workers drain them; the other workers finish what they have
   * in hand. After `drainTimeoutMs` the handlers' signals abort and what is left stays where it is; a handler that does not end then is
   * left behind.
   */
  async drain(): Promise<void> {
    const { clock, drainTimeoutMs, log } = this.#options;
    const patience = new AbortController();
    const drained = new AbortController();
    const deadline = sleep(clock, drainTimeoutMs, drained.signal).then((over) => {
      if (over) patience.abort(new Error(`Shutdown waited ${drainTimeoutMs} ms for the queues to drain`));
    });
    const leaving = deadline.then(() => sleep(clock, ABORT_GRACE_MS, drained.signal));
    const owned = [...this.#queues].filter(([, on]) => on.owned);
    await Promise.all(owned.map(([, { queue }]) => queue.close()));
    await Promise.all(
      this.#placed.map(async ({ name, worker, on }) => {
        if (on.owned && worker.state !== 'IDLE') await Promise.race([worker.ended, deadline]);
        await Promise.race([worker.stop({ signal: patience.signal }), leaving]);
        if (worker.state === 'STOPPING')
          log.error({ worker: name }, 'A handler ignores its signal: the shutdown goes on without it');
      }),
    );
    drained.abort();
    for (const [name, { queue }] of owned) {
      const items = await queue.size();
      if (items > 0) log.error({ queue: name, items }, 'Items are lost with a queue that was not drained');
    }
  }

  #place(instance: object, key: PropertyKey, { queue, config }: QueueWorkerMark): Placed {
    const on = this.#queues.get(queue);
    const name = `${instance.constructor.name}.${String(key)}`;
    if (!on) {
      const known = [...this.#queues.keys()].join(', ') || 'none';
      throw invalid(name, `for a queue of RuntimeModule (${known})`, queue, '@QueueWorker');
    }
    const { log, clock } = this.#options;
    const methods = instance as Record<PropertyKey, (...args: unknown[]) => unknown>;
    const worker = new Worker<unknown>(
      on.queue,
      (item, context) => methods[key]?.(item, context),
      { ...config, name: config.name ?? name } as WorkerConfig,
      { log, clock },
    );
    return { name, worker, on };
  }
}

Inject(ModulesContainer)(QueueWorkers, undefined, 0);
Inject(RuntimeQueues)(QueueWorkers, undefined, 1);
Inject(RUNTIME_OPTIONS)(QueueWorkers, undefined, 2);

/** The one instance behind a provider; undefined when there is none, or it is no object. */
function singleton(wrapper: Wrapper): object | undefined {
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    const prototype: unknown = wrapper.metatype?.prototype;
    for (const [key] of markedMethods(prototype))
      throw invalid(
        `${String(wrapper.name)}.${String(key)}`,
        'on a provider with one instance',
        'one made per request or per use',
        '@QueueWorker',
      );
    return undefined;
  }
  const { instance } = wrapper as { readonly instance: unknown };
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}

/** The decorated methods of an object, inherited ones included, each with what its decorators asked for. */
function* markedMethods(object: unknown): Generator<[key: PropertyKey, mark: QueueWorkerMark]> {
  const seen = new Set<PropertyKey>();
  for (let owner = object; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner))
    for (const key of Reflect.ownKeys(owner)) {
      // The descriptor, not the value: reading a getter here would run it.
      const method: unknown = Object.getOwnPropertyDescriptor(owner, key)?.value;
      if (!seen.has(key) && typeof method === 'function')
        for (const mark of marksOf(method)) yield [key, mark];
      seen.add(key);
    }
}
