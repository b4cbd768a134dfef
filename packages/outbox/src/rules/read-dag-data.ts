import type { DagData, DagTaskData, TaskDefinition } from '../define-dag.js';
import type { TaskMode } from '../model.js';
import { dagNameProblem, handlerName, quoted, shown } from './names.js';
import { TASK_DEFAULTS } from './task-settings.js';
import { dagInvalid, didYouMean, requireTaskCount, type ValidDag, validateDag } from './validate-dag.js';

/** A handler of the application. */
interface KnownHandler {
  readonly mode: TaskMode;
  readonly when: unknown;
  readonly timeoutMs: number;
  readonly attemptsMax: number;
  readonly backoffMs: number;
}

/** The handlers of the application. */
export interface KnownHandlers {
  /** Returns a handler by its name, `dag.key`. */
  handler(name: string): KnownHandler | undefined;
  /** Names of all handlers. */
  readonly handlerNames: Iterable<string>;
}

const DAG_KEYS: readonly string[] = ['name', 'tasks'] satisfies readonly (keyof DagData)[];
const TASK_KEYS: readonly string[] = [
  'handler',
  'after',
  'join',
  'mode',
  'onFailure',
  'timeoutMs',
  'retries',
  'backoffMs',
] satisfies readonly (keyof DagTaskData)[];

/**
 * Validates a DAG that is given as data, by the rules of DAGs in code, and completes it: missing wiring by the usual
 * defaults, all else by the settings of its handlers in code.
 * @returns a DAG whose tasks name their handlers if these are not their own.
 * @throws MillraceError `DAG_INVALID` with the first mistake; `BATCH_TOO_LARGE`.
 */
export function readDagData(given: unknown, handlers: KnownHandlers, tasksMax: number): ValidDag {
  if (!isRecord(given)) throw dagInvalid(undefined, `it must be an object with ${DAG_KEYS.join(' and ')}`);
  const { name, tasks } = given;
  const problem = dagNameProblem(name);
  if (problem) throw dagInvalid(name, problem);
  const dag = name as string;
  requireKnownKeys(dag, 'it', given, DAG_KEYS);
  if (!isRecord(tasks)) throw dagInvalid(dag, `its tasks must be an object by key, got ${shown(tasks)}`);
  const keys = Object.keys(tasks);
  requireTaskCount(dag, keys.length, tasksMax);
  const handlerOf = new Map<string, string>();
  const definitions = keys.map((key): readonly [string, TaskDefinition] => {
    const { handler, definition } = readTask(dag, key, tasks[key], handlers);
    if (handler !== handlerName(dag, key)) handlerOf.set(key, handler);
    return [key, definition];
  });
  const valid = validateDag({ name: dag, tasks: definitions }, tasksMax);
  if (handlerOf.size === 0) return valid;
  return { name: dag, tasks: valid.tasks.map((task) => ({ ...task, handler: handlerOf.get(task.key) })) };
}

/** Returns the task as code would define it, and its handler. */
function readTask(
  dag: string,
  key: string,
  given: unknown,
  handlers: KnownHandlers,
): { readonly handler: string; readonly definition: TaskDefinition } {
  const owner = `task ${quoted(key)}`;
  if (!isRecord(given)) throw dagInvalid(dag, `${owner} must be an object, got ${shown(given)}`);
  requireKnownKeys(dag, owner, given, TASK_KEYS);
  const { handler: name = handlerName(dag, key), mode, retries, ...wiring } = given;
  if (typeof name !== 'string')
    throw dagInvalid(dag, `the handler of ${owner} must be the name of one, got ${shown(name)}`);
  const handler = handlers.handler(name);
  if (!handler) {
    const hint = didYouMean(name, handlers.handlerNames);
    const named = `${owner} is run by the handler ${quoted(name)}, which this application does not have`;
    throw dagInvalid(dag, `${named}${hint || '; a handler is named dag.key'}`);
  }
  if (mode !== undefined && mode !== handler.mode)
    throw dagInvalid(
      dag,
      `the mode of ${owner} is ${quoted(mode)}, but its handler ${quoted(name)} is ${handler.mode}; leave the mode out`,
    );
  const tries = retries === undefined ? handler.attemptsMax - 1 : retries;
  const { timeoutMs, backoffMs, when } = handler;
  // Only if it is not the default: tasks with an options object take most of the time of the validation.
  const retry = tries === TASK_DEFAULTS.retry.retries ? {} : { retry: { retries: tries } };
  // Its values are untrusted until validateDag has checked them.
  const definition = {
    mode: handler.mode,
    when,
    timeoutMs,
    backoffMs,
    ...retry,
    ...wiring,
  } as TaskDefinition;
  return { handler: name, definition };
}

function requireKnownKeys(dag: string, owner: string, given: object, known: readonly string[]): void {
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known) || `; known: ${known.join(', ')}`;
    throw dagInvalid(dag, `${owner} has ${quoted(key)}, which is not known${hint}`);
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
