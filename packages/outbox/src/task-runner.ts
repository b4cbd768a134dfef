import { toWorkError } from '@millrace/foundation';
import type { Completions } from './completions.js';
import type { TaskResult } from './events.js';
import { ExternalRunner } from './external-runner.js';
import type { Kit } from './kit.js';
import type { ClaimedTask } from './ports.js';
import { taskFields } from './rules/log-fields.js';
import type { StopSwitch } from './stop-switch.js';
import { TaskAdditions } from './task-additions.js';
import { TaskEndings } from './task-endings.js';
import type { TaskOutcomes } from './task-outcomes.js';
import { TransactionalRunner } from './transactional-runner.js';

/** Runs claimed tasks and stores their ends. */
export class TaskRunner {
  readonly #kit: Kit;
  readonly #outcomes: TaskOutcomes;
  readonly #external: ExternalRunner;
  readonly #transactional: TransactionalRunner;

  constructor(kit: Kit, outcomes: TaskOutcomes, completions: Completions) {
    const endings = new TaskEndings(kit);
    this.#kit = kit;
    this.#outcomes = outcomes;
    this.#external = new ExternalRunner(kit, endings, outcomes, completions);
    this.#transactional = new TransactionalRunner(kit, endings, outcomes);
  }

  /**
   * Runs a task. Never throws.
   * @param stop - thrown when the claim is lost (`CLAIM_LOST`) or the worker stops (STOPPING).
   * @param listener - `free`: the slot is free; `ended`: the end is stored.
   */
  run(
    task: ClaimedTask,
    stop: StopSwitch,
    { free, ended }: { readonly free: () => void; readonly ended: () => void },
  ): void {
    const { options, registry } = this.#kit;
    const { clock, logger } = options;
    let startedMs = clock.monotonicMs();
    const settled = (result: TaskResult) => {
      free();
      this.#outcomes.note(task, result, clock.monotonicMs() - startedMs);
      ended();
    };
    const handler = registry.handler(task.handler);
    const additions = new TaskAdditions(task.handler, registry, options);
    const parts = { stop, additions, logger };
    if (handler?.mode === 'external') {
      this.#external.run(task, handler, parts, { free, ended: settled });
      return;
    }
    const onStart = () => {
      startedMs = clock.monotonicMs();
    };
    // The claim asked for handlers of this process. One that is gone since belongs to another instance.
    const result = handler
      ? this.#transactional.run(task, handler, parts, onStart)
      : this.#outcomes.returned(task);
    result.then(settled, (error: unknown) => {
      const fields = { ...taskFields(task), reason: toWorkError(error).message };
      logger.error(fields, 'A task could not be settled');
      settled('lost');
    });
  }
}
