import { MillraceError, printable } from '@millrace/foundation';
import { type Tx, toJson } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { ClaimedTask, NewTask } from './ports.js';
import type { TaskHandler } from './registry.js';

/** How tries end that went well, in a transaction. Both give how many other tasks can run now. */
export class TaskEndings {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /**
   * Completes a task, with the tasks it has added, and commits.
   * @param result - JSON text.
   * @throws MillraceError `CLAIM_LOST`, `TASKS_INVALID`, `BATCH_TOO_LARGE`; those of a COMMIT.
   */
  async complete(tx: Tx, task: ClaimedTask, result: string, added: readonly NewTask[]): Promise<number> {
    if (added.length > 0) await this.#kit.tasks.add(tx, task, added, this.#kit.options.tasksPerBatchMax);
    const { id, claimId } = task;
    const end = { id, claimId, status: 'DONE', result, seenAs: 'success' } as const;
    // When nobody knows what can run now, the poller looks.
    return (await this.#kit.tasks.endAndCommit(tx, end)) ?? 1;
  }

  /**
   * Skips a task whose condition does not hold, and what can no longer run because of it.
   * @throws MillraceError `CLAIM_LOST`.
   */
  async skip(tx: Tx, { id, claimId }: ClaimedTask): Promise<number> {
    await this.#kit.tasks.lockDescendants(tx, id);
    const outcome = await this.#kit.tasks.end(tx, [{ id, claimId, status: 'SKIPPED', seenAs: 'end' }]);
    if (!outcome.ended.has(id)) throw ERRORS.create('CLAIM_LOST', {});
    return outcome.ready + (await this.#kit.tasks.skip(tx, outcome.skip));
  }

  /**
   * What a handler returned, as JSON text.
   * @param value - anything; undefined is null.
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

/** Whether a task is not to be run, by its condition. */
export async function isUnwanted({ when }: TaskHandler, { inputs }: ClaimedTask): Promise<boolean> {
  return when !== undefined && !(await when(inputs ?? {}));
}
