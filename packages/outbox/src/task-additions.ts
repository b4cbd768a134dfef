import { toJson } from '@millrace/postgres';
import type { AddedTask } from './define-dag.js';
import { ERRORS } from './errors.js';
import type { ResolvedOutboxOptions } from './options.js';
import type { NewTask } from './ports.js';
import type { DagRegistry } from './registry.js';
import { quoted, taskKeyProblem } from './rules/names.js';

const NONE: readonly NewTask[] = Object.freeze([]);

/** Collects the tasks that a handler adds to its batch. They are validated at once and stored with its completion. */
export class TaskAdditions {
  readonly #handler: string;
  readonly #registry: DagRegistry;
  readonly #options: ResolvedOutboxOptions;
  /** Made with the first task, because most handlers add none. */
  #tasks: Map<string, NewTask> | undefined;

  constructor(handler: string, registry: DagRegistry, options: ResolvedOutboxOptions) {
    this.#handler = handler;
    this.#registry = registry;
    this.#options = options;
  }

  /** The added tasks. */
  get tasks(): readonly NewTask[] {
    return this.#tasks ? [...this.#tasks.values()] : NONE;
  }

  /**
   * Adds all tasks, or none if one is refused.
   * @throws MillraceError `TASKS_INVALID`, `BATCH_TOO_LARGE`, `PARAMETER_INVALID`.
   */
  add(given: readonly AddedTask[]): void {
    if (!Array.isArray(given)) throw this.#invalid('expected a list of tasks');
    const { tasksPerBatchMax: max } = this.#options;
    const known = this.#tasks ?? new Map<string, NewTask>();
    const count = known.size + given.length;
    if (count > max) {
      const what = 'The number of added tasks';
      throw ERRORS.create('BATCH_TOO_LARGE', {
        what,
        dag: this.#handler,
        given: count,
        max,
        option: 'tasksPerBatchMax',
      });
    }
    const checked = new Map<string, NewTask>();
    for (const one of given) {
      const task = this.#check(one);
      if (checked.has(task.key) || known.has(task.key))
        throw this.#invalid(`task ${quoted(task.key)} is added twice`);
      checked.set(task.key, task);
    }
    for (const [key, task] of checked) known.set(key, task);
    this.#tasks = known;
  }

  #check(given: AddedTask): NewTask {
    const { key, handler: name, payload, before = [] } = given ?? {};
    const problem = taskKeyProblem(key);
    if (problem !== undefined) throw this.#invalid(problem);
    // A missing list in JavaScript must fail at once, not be retried as a TypeError.
    const handler = typeof name === 'string' ? this.#registry.handler(name) : undefined;
    if (!handler)
      throw this.#invalid(
        `task ${quoted(key)} names the handler ${quoted(name)}, which this application does not have; a handler is named dag.key`,
      );
    const successors = typeof before === 'string' ? [before] : before;
    if (!Array.isArray(successors) || !successors.every((one) => typeof one === 'string'))
      throw this.#invalid(`'before' of task ${quoted(key)} must be the key of a task, or a list of keys`);
    return { key, handler, payload: this.#encode(key, payload), before: [...new Set(successors)] };
  }

  #encode(key: string, payload: unknown): string {
    if (payload === undefined) return 'null';
    const text = toJson(payload);
    const { payloadBytesMax: max } = this.#options;
    const bytes = Buffer.byteLength(text);
    if (bytes > max)
      throw this.#invalid(
        `the payload of task ${quoted(key)} is ${bytes} bytes, more than the ${max} allowed (payloadBytesMax)`,
      );
    return text;
  }

  #invalid(reason: string) {
    return ERRORS.create('TASKS_INVALID', { handler: this.#handler, reason });
  }
}
