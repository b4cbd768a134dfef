import { MillraceError, printable } from '@millrace/foundation';
import { type Tx, toJson } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { ClaimedTask, NewTask } from './ports.js';
import type { TaskHandler } from './registry.js';

/** Ends successful and skipped attempts in a transaction. Returns the number of other tasks that can run now. */
export class TaskEndings {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /**
   * Completes a task, stores the tasks it has added, and commits.
   * @param result - JSON text.
   * @throws MillraceError `CLAIM_LOST`, `TASKS_INVALID`, `BATCH_TOO_LARGE`; those of a COMMIT.
   */
  async complete(tx: Tx, task: ClaimedTask, result: string, added: readonly NewTask[]): Promise<number> {
    if (added.length > 0) await this.#kit.tasks.add(tx, task, added, this.#kit.options.tasksPerBatchMax);
    const { id, claimId } = task;
    const end = { id, claimId, status: 'DONE', result, seenAs: 'success' } as const;
    // The number may be unknown. Then the poller looks.
    return (await this.#kit.tasks.endAndCommit(tx, end)) ?? 1;
  }

  /**
   * Skips a task whose condition is false, and the tasks that can no longer run because of it.
   * @throws MillraceError `CLAIM_LOST`.
   */
  async skip(tx: Tx, { id, claimId }: ClaimedTask): Promise<number> {
    await this.#kit.tasks.lockDescendants(tx, id);
    const outcome = await this.#kit.tasks.end(tx, [{ id, claimId, status: 'SKIPPED', seenAs: 'end' }]);
    if (!outcome.ended.has(id)) throw ERRORS.create('CLAIM_LOST', {});
    return outcome.ready + (await this.#kit.tasks.skip(tx, outcome.skip));
  }

  /**
   * Converts the result of a handler to JSON text. undefined becomes null.
   * @throws MillraceError `RESULT_INVALID`.
   */
  encode({ name }: TaskHandler, value: unknown): string {
    if (value === undefined) return 'null';
    const invalid = (expected: string, given: string) =>
      ERRORS.create('RESULT_INVALID', { handler: name, expected, given });
    let text: string;
    try {
      text = toJson(value);
    } catch (error) {
      throw invalid(
        'something JSON can carry',
        error instanceof MillraceError ? error.message : printable(value),
      );
    }
    const { resultBytesMax: max } = this.#kit.options;
    const bytes = Buffer.byteLength(text);
    if (bytes > max) throw invalid(`at most ${max} bytes of JSON (resultBytesMax)`, `${bytes} bytes`);
    return text;
  }
}

/** Reports whether the condition of a task is false. */
export async function isUnwanted({ when }: TaskHandler, { inputs }: ClaimedTask): Promise<boolean> {
  return when !== undefined && !(await when(inputs ?? {}));
}
