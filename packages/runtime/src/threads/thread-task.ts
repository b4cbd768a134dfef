import { ERRORS } from '@millrace/foundation';

declare const signature: unique symbol;

/** A function of a module that runs on a thread; made by `threadTask`. */
export interface ThreadTask<A extends unknown[] = unknown[], T = unknown> {
  /** The module's URL. */
  readonly module: string;
  /** The name of the exported function. */
  readonly name: string;
  /** Never there: carries the function's type from the declaration to `submit`. */
  readonly [signature]?: (...args: A) => T;
}

/** The names of the functions that a module exports. */
type FunctionName<M> = {
  [K in keyof M]: M[K] extends (...args: never[]) => unknown ? K : never;
}[keyof M] &
  string;

/** The thread task of one function type. */
type ThreadTaskOf<F> = F extends (...args: infer A) => infer R ? ThreadTask<A, Awaited<R>> : never;

// TypeScript infers all type arguments of a call or none: where the module is given, the name cannot be inferred. So
// the names are counted out, one overload each, and the overload that accepts the name knows the function's type.
type Intersection<U> = (U extends unknown ? (of: U) => void : never) extends (of: infer I) => void
  ? I
  : never;
type LastOf<U> = Intersection<U extends unknown ? () => U : never> extends () => infer L ? L : never;
type ListOf<U> = [U] extends [never] ? [] : [...ListOf<Exclude<U, LastOf<U>>>, LastOf<U>];
type NameAt<M, N extends number> = ListOf<FunctionName<M>>[N] extends infer K extends string ? K : never;
type TaskAt<M, N extends number> = NameAt<M, N> extends infer K extends keyof M ? ThreadTaskOf<M[K]> : never;
type AnyModule = Readonly<Record<string, (...args: unknown[]) => unknown>>;

/**
 * Declares a function of a module as a task for threads:
 * `threadTask<typeof import('./resize.js')>(new URL('./resize.js', import.meta.url), 'resize')`.
 * The module is loaded in the thread, once per thread; arguments and results are copied as `structuredClone` does.
 * Types are exact for modules of up to eight exported functions; beyond that name the function as the second type
 * argument too.
 * @param module - where the module is; Node must be able to import it as it is, so a file that is JavaScript.
 * @param name - the exported function's name.
 * @returns the declaration, for `ThreadPool.submit` and `ThreadPool.task`; nothing is loaded yet.
 * @throws MillraceError `OPTION_INVALID` for a module that is no URL, or an empty name.
 */
export function threadTask<M = AnyModule>(module: URL | string, name: NameAt<M, 0>): TaskAt<M, 0>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 1>): TaskAt<M, 1>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 2>): TaskAt<M, 2>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 3>): TaskAt<M, 3>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 4>): TaskAt<M, 4>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 5>): TaskAt<M, 5>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 6>): TaskAt<M, 6>;
export function threadTask<M>(module: URL | string, name: NameAt<M, 7>): TaskAt<M, 7>;
export function threadTask<M, K extends FunctionName<M> = FunctionName<M>>(
  module: URL | string,
  name: K,
): ThreadTaskOf<M[K]>;
export function threadTask(module: URL | string, name: string): ThreadTask {
  const href = URL.canParse(String(module)) ? String(module) : undefined;
  if (!href) refuse('module', 'a URL, such as new URL("./resize.js", import.meta.url)', module);
  if (typeof name !== 'string' || name === '') refuse('name', 'the name of an exported function', name);
  return Object.freeze({ module: href, name });
}

function refuse(option: string, expected: string, given: unknown): never {
  throw ERRORS.create('OPTION_INVALID', { owner: 'threadTask', option, expected, given });
}

/** Whether a value is what `threadTask` makes, of whichever installed copy. */
export const isThreadTask = (value: unknown): value is ThreadTask =>
  typeof value === 'object' && value !== null && 'module' in value && 'name' in value;
