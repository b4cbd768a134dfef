import { type Logger, toWorkError } from '@millrace/foundation';
import type { Completions } from './completions.js';
import type { TaskResult } from './events.js';
import { ExternalRunner } from './external-runner.js';
import type { ResolvedOutboxOptions } from './options.js';
import type { ClaimedTask, TaskStore } from './ports.js';
import type { DagRegistry } from './registry.js';
import { taskFields } from './rules/log-fields.js';
import type { StopSwitch } from './stop-switch.js';
import { TaskAdditions } from './task-additions.js';
import { TaskEndings } from './task-endings.js';
import type { AfterEnd, TaskOutcomes } from './task-outcomes.js';
import { TransactionalRunner } from './transactional-runner.js';

/** Runs claimed tasks, each to its end, whatever that is. */
export class TaskRunner {
  readonly #registry: DagRegistry;
  readonly #outcomes: TaskOutcomes;
  readonly #external: ExternalRunner;
  readonly #transactional: TransactionalRunner;
  readonly #options: ResolvedOutboxOptions;
  readonly #logger: Logger;

  constructor(
    parts: {
      readonly tasks: TaskStore;
      readonly registry: DagRegistry;
      readonly outcomes: TaskOutcomes;
      readonly completions: Completions;
    },
    options: ResolvedOutboxOptions,
    afterEnd: AfterEnd,
  ) {
    const { tasks, registry, outcomes, completions } = parts;
    const endings = new TaskEndings(tasks, options);
    this.#registry = registry;
    this.#outcomes = outcomes;
    this.#external = new ExternalRunner({ endings, outcomes, completions }, options, afterEnd);
    this.#transactional = new TransactionalRunner({ endings, outcomes }, options, afterEnd);
    this.#options = options;
    this.#logger = options.logger;
  }

  /**
   * Runs a task. Never throws.
   * @param stop - thrown when the claim is lost (`CLAIM_LOST`) or the worker stops (STOPPING).
   * @param listener - `free`: the slot can be used for another one; `ended`: the end is written.
   */
  run(
    task: ClaimedTask,
    stop: StopSwitch,
    { free, ended }: { readonly free: () => void; readonly ended: () => void },
  ): void {
    const { clock } = this.#options;
    let startedMs = clock.monotonicMs();
    const settled = (result: TaskResult) => {
      free();
      this.#outcomes.note(task, result, clock.monotonicMs() - startedMs);
      ended();
    };
    const handler = this.#registry.handler(task.handler);
    const additions = new TaskAdditions(task.handler, this.#registry, this.#options);
    const parts = { stop, additions, logger: this.#logger };
    if (handler?.mode === 'external') {
      this.#external.run(task, handler, parts, { free, ended: settled });
      return;
    }
    const onStart = () => {
      startedMs = clock.monotonicMs();
    };
    // The claim asked for handlers that this process had stored; one that is gone since is somebody else's.
    const result = handler
      ? this.#transactional.run(task, handler, parts, onStart)
      : this.#outcomes.returned(task);
    result.then(settled, (error: unknown) => {
      const fields = { ...taskFields(task), reason: toWorkError(error).message };
      this.#logger.error(fields, 'A task could not be settled');
      settled('lost');
    });
  }
}
