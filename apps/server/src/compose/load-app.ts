import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { toWorkError } from '@millrace/foundation';
import { type App, type AppFactory, type AppParts, type AppServices, partsOf } from '../define-app.js';
import { ERRORS } from '../errors.js';
import { loadingProblem } from './loading-problem.js';

/** In place of a file, for messages. */
const GIVEN = 'given';

/**
 * Loads the module of an application.
 * @returns what was given to defineApp.
 * @throws MillraceError `APP_INVALID`.
 */
export async function loadApp(file: string): Promise<AppParts | AppFactory> {
  const refuse = (reason: string, cause?: unknown) =>
    ERRORS.create('APP_INVALID', { file, reason }, { cause });
  let module: { readonly default?: unknown; readonly app?: unknown };
  try {
    module = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    ignoreTwin(error);
    throw refuse(`it cannot be loaded: ${await loadingProblem(error, resolve(file))}`, error);
  }
  const parts = partsOf(module.default) ?? partsOf(module.app);
  if (!parts) throw refuse("it must export defineApp(…) as default, or as 'app'");
  return parts;
}

/**
 * The parts of an application that is there already.
 * @returns what was given to defineApp.
 * @throws MillraceError `APP_INVALID`.
 */
export function appPartsOf(app: App): AppParts | AppFactory {
  const parts = partsOf(app);
  if (!parts) throw ERRORS.create('APP_INVALID', { file: GIVEN, reason: 'it must be made by defineApp(…)' });
  return parts;
}

/**
 * Node 20 rejects two promises with what a CommonJS module throws that another module imports: that of the import, and one that nobody can
 * handle, before the next turn of the event loop.
 */
function ignoreTwin(error: unknown): void {
  const name = 'unhandledRejection';
  const ignore = (reason: unknown) => {
    // As it would be without this listener.
    if (reason !== error && process.listenerCount(name) === 1) throw reason;
  };
  process.on(name, ignore);
  setImmediate(() => process.off(name, ignore));
}

/** An application with everything in place. */
export type ResolvedApp = {
  readonly [K in Exclude<keyof AppParts, 'chat'>]-?: NonNullable<AppParts[K]>;
} & Pick<AppParts, 'chat'>;

const KEYS = ['processors', 'aggregators', 'dags', 'routes', 'resources', 'chat'];

/**
 * The parts of an application, all of them.
 * @throws MillraceError `APP_INVALID`.
 */
export function resolveApp(given: AppParts | AppFactory, services: AppServices, file = GIVEN): ResolvedApp {
  const refuse = (reason: string, cause?: unknown) =>
    ERRORS.create('APP_INVALID', { file, reason }, { cause });
  const parts = made(given, services, refuse);
  if (typeof parts !== 'object' || parts === null)
    throw refuse('defineApp needs an object, or a function that returns one');
  if ('then' in parts)
    throw refuse('the function given to defineApp must not be async; await what it needs before defineApp');
  const unknown = Object.keys(parts).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw refuse(`defineApp knows no '${unknown}'; known: ${KEYS.join(', ')}`);
  const { processors = [], aggregators = [], dags = [], routes = {}, resources = {}, chat } = parts;
  return { processors, aggregators, dags, routes, resources, chat };
}

function made(
  given: AppParts | AppFactory,
  services: AppServices,
  refuse: (reason: string, cause: unknown) => Error,
): AppParts {
  if (typeof given !== 'function') return given;
  try {
    return given(services);
  } catch (error) {
    throw refuse(`the function given to defineApp throws: ${toWorkError(error).message}`, error);
  }
}
