import { optionInvalid } from '@millrace/foundation';
import type { TaskRun } from '../rules/task-settings.js';

/** A decorator for methods that run tasks, under standard and under legacy (`experimentalDecorators`) rules. */
export interface OutboxTaskDecorator {
  <T extends TaskRun>(method: T, context: ClassMethodDecoratorContext): void;
  <T extends TaskRun>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<T>): void;
}

/** The task that a method runs. */
export interface TaskMark {
  readonly dag: string;
  readonly key: string;
}

/** A method of a provider that runs a task. */
export interface MarkedMethod extends TaskMark {
  readonly method: PropertyKey;
}

const MARKS = Symbol.for('@millrace/outbox tasks');
const OWNER = '@OutboxTask';

/**
 * Makes a method of a provider the handler of a task without `run`. It is called with the task's context, on the instance
 * that Nest made. A method may have several.
 * @throws MillraceError `OPTION_INVALID`, also for a static or private method, and for anything but a method.
 */
export function OutboxTask(dag: string, key: string): OutboxTaskDecorator {
  for (const [option, value] of Object.entries({ dag, key }))
    if (typeof value !== 'string' || value === '') throw optionInvalid(OWNER, option, 'a text', value);
  // One function for both decorator systems, which differ in its arguments.
  const decorate = (
    target: unknown,
    at?: PropertyKey | DecoratorContext,
    descriptor?: PropertyDescriptor,
  ): void => {
    const method = typeof at === 'object' ? standardMethod(target, at) : legacyMethod(target, descriptor);
    if (typeof method !== 'function')
      throw optionInvalid(OWNER, 'its place', 'a method of an instance that others may call', placeOf(at));
    // On the function, because wrappers of other decorators copy its properties.
    Object.defineProperty(method, MARKS, {
      value: [...marksOn(method), { dag, key }] satisfies TaskMark[],
      configurable: true,
    });
  };
  return decorate as OutboxTaskDecorator;
}

const standardMethod = (target: unknown, context: DecoratorContext): unknown =>
  context.kind === 'method' && !context.static && !context.private ? target : undefined;

/** Returns the method of a legacy decorator, unless it is static: then the target is the class, a function. */
const legacyMethod = (target: unknown, descriptor: PropertyDescriptor | undefined): unknown =>
  typeof target === 'object' ? descriptor?.value : undefined;

function placeOf(at: PropertyKey | DecoratorContext | undefined): string {
  if (at === undefined) return 'a class';
  if (typeof at !== 'object') return `${String(at)}, which is static or no method`;
  const { kind, name } = at;
  return `${kind === 'method' ? 'the static or private method' : `the ${kind}`} ${String(name)}`;
}

function marksOn(method: unknown): readonly TaskMark[] {
  const marks = typeof method === 'function' ? (method as { [MARKS]?: unknown })[MARKS] : undefined;
  // A mock has a member of every name.
  return Array.isArray(marks) ? marks : [];
}

/**
 * Lists the methods under `@OutboxTask` of a prototype, inherited ones included. An overridden one counts as in its subclass.
 * @param prototype - null has none.
 */
export function* markedMethods(prototype: object | null): Generator<MarkedMethod> {
  const seen = new Set<PropertyKey>();
  for (let owner = prototype; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner))
    for (const method of Reflect.ownKeys(owner)) {
      if (seen.has(method)) continue;
      seen.add(method);
      // Read the descriptor, because reading the value would run a getter.
      const { value } = Object.getOwnPropertyDescriptor(owner, method) ?? {};
      for (const { dag, key } of marksOn(value)) yield { dag, key, method };
    }
}
