import type { WorkContext } from '@millrace/foundation';
import { Inject } from '@nestjs/common';
import type { QueueItem } from '../model.js';
import { resolveWorkerConfig, type WorkerConfig } from '../options.js';
import { invalid, queueToken } from './options.js';

/** A method that can handle items. */
export type QueueWorkerMethod = (item: QueueItem<never>, context: WorkContext) => unknown;

/** A decorator for methods that handle items, under standard and under legacy (`experimentalDecorators`) rules. */
export interface QueueWorkerDecorator {
  <F extends QueueWorkerMethod>(method: F, context: ClassMethodDecoratorContext): void;
  <F extends QueueWorkerMethod>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): void;
}

/** What `@QueueWorker` leaves on a method. */
export interface QueueWorkerMark {
  readonly queue: string;
  readonly config: WorkerConfig<never>;
}

// On the method itself, where decorators that put a wrapper in its place find it and take it along.
const MARKS = Symbol.for('@millrace/runtime queue workers');

const OWNER = '@QueueWorker';

/**
 * Makes a method of a provider or controller the handler of a queue: the application starts a Worker for it.
 * The method is called on the instance that Nest made; a method may stand under several queues.
 * @param queue - the queue's name in the options of RuntimeModule.
 * @param config - options of the Worker; `name` is `Class.method` by default.
 * @returns a method decorator.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function QueueWorker(queue: string, config: WorkerConfig<never> = {}): QueueWorkerDecorator {
  if (typeof queue !== 'string' || queue === '') throw invalid('queue', 'a name', queue, OWNER);
  resolveWorkerConfig(config, OWNER);
  return ((target: unknown, at: unknown, descriptor?: PropertyDescriptor) => {
    const method = descriptor ? descriptor.value : target;
    if (typeof method !== 'function' || at === undefined) throw invalid('its place', 'a method', at, OWNER);
    const marks = [...marksOf(method), { queue, config }];
    Object.defineProperty(method, MARKS, { value: marks, configurable: true });
  }) as QueueWorkerDecorator;
}

/**
 * Injects a queue of RuntimeModule.
 * @returns a parameter and property decorator.
 */
export const InjectQueue = (name: string): ReturnType<typeof Inject> => Inject(queueToken(name));

/** What the decorators have left on a method. */
export const marksOf = (method: object): readonly QueueWorkerMark[] =>
  (method as { readonly [MARKS]?: readonly QueueWorkerMark[] })[MARKS] ?? [];
