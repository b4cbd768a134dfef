import { backoffMs, MillraceError, sleep, toWorkError, withJitter } from '@millrace/foundation';
import { isConflict } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { TaskResult } from './events.js';
import type { Kit } from './kit.js';
import type { ClaimedTask, ExpiredTask, Failure, TaskReturn } from './ports.js';
import type { TaskHandler } from './registry.js';
import { taskFields } from './rules/log-fields.js';

const WRITE_ATTEMPTS = 5;
const WRITE_PAUSE_MAX_MS = 1_000;
const LOSS_PAUSE_MAX_MS = 10_000;

const pauseMs = (attempt: number, maxMs: number): number =>
  backoffMs({ strategy: 'exponential', attempt, baseMs: 100, maxMs });

/** Reports whether the same statement may succeed a little later. */
export const isTransient = (error: unknown): boolean =>
  isConflict(error) || (error instanceof MillraceError && error.retryable);

/** Stores the ends of attempts that did not succeed. Every statement names the claim that it ends. */
export class TaskOutcomes {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /** The handler threw. Retries the task, or makes it a dead letter. */
  async failed(task: ClaimedTask, handler: TaskHandler, thrown: unknown): Promise<TaskResult> {
    const error = toWorkError(thrown);
    const { attempt, attemptsMax } = task;
    if (!error.retryable || attempt >= attemptsMax) return this.deadLetter(task, recordOf(error));
    const wantedMs = error.retryAfterMs ?? (await this.#retryDelayMs(task, handler, thrown));
    const delayMs = Math.min(wantedMs, this.#kit.options.backoffMaxMs);
    const fields = { ...taskFields(task), attempt, delayMs, reason: error.message };
    this.#kit.options.logger.info(fields, 'Task failed, will retry');
    return this.#giveBack(task, { delayMs, attemptReturned: false, lost: false, error: recordOf(error) });
  }

  /**
   * The database was lost under the handler, or rejected its work because of other transactions. Retries the task without
   * counting the attempt. The pause grows, because a task may take its database down each time.
   */
  async lost(task: ClaimedTask, thrown: unknown): Promise<TaskResult> {
    if (task.lost + 1 > this.#kit.options.lostMax) return this.deadLetter(task, this.#lostError(task.lost));
    return this.#giveBack(task, {
      delayMs: pauseMs(task.lost + 1, LOSS_PAUSE_MAX_MS),
      attemptReturned: true,
      lost: true,
      error: recordOf(toWorkError(thrown)),
    });
  }

  /** This worker stops. Another one can claim the task at once. */
  returned(task: ClaimedTask): Promise<TaskResult> {
    return this.#giveBack(task, { delayMs: 0, attemptReturned: true, lost: false });
  }

  /** Releases claims whose lease has expired. Tasks that were lost too often become dead letters. */
  async expired(
    tasks: readonly ExpiredTask[],
    { embedded }: { readonly embedded: boolean },
  ): Promise<number> {
    const again = tasks.filter(({ lost }) => lost + 1 <= this.#kit.options.lostMax);
    const givenUp = tasks.filter(({ lost }) => lost + 1 > this.#kit.options.lostMax);
    const returns = again.map(({ id, claimId, batchId }) => ({
      id,
      claimId,
      batchId,
      delayMs: 0,
      attemptReturned: true,
      lost: true,
    }));
    let count = 0;
    if (returns.length > 0) {
      // An embedded database has one process. Any other holder of a claim is dead, whatever its lease says.
      const { ready, cancelled } = await this.#kit.tasks.giveBack(returns, { expired: !embedded });
      count += ready.size + cancelled.size;
      this.#kit.afterEnd(ready.size);
    }
    for (const task of givenUp)
      if ((await this.deadLetter(task, this.#lostError(task.lost), { isDead: embedded })) === 'failed')
        count++;
    return count;
  }

  /** Fails a task for good, and applies its failure policy to the rest of its batch. */
  async deadLetter(
    task: ExpiredTask,
    error: Failure,
    expired?: { readonly isDead: boolean },
  ): Promise<TaskResult> {
    const { id, claimId, batchId, onFailure } = task;
    const seenAs = ({ fail: 'nothing', skip: 'end', continue: 'success' } as const)[onFailure];
    const work = () =>
      this.#kit.options.database.transaction(
        async (tx) => {
          // The batch before its tasks: every transaction locks in this order.
          if (onFailure === 'fail') {
            await this.#kit.batches.lock(tx, batchId);
            await this.#kit.tasks.lockReady(tx, task);
          }
          if (onFailure === 'skip') await this.#kit.tasks.lockDescendants(tx, id);
          if (expired && !(await this.#kit.tasks.lockExpired(tx, task, expired.isDead)))
            throw ERRORS.create('CLAIM_LOST', {});
          const outcome = await this.#kit.tasks.end(tx, [{ id, claimId, status: 'FAILED', error, seenAs }]);
          if (!outcome.ended.has(id)) throw ERRORS.create('CLAIM_LOST', {});
          if (onFailure === 'fail') await this.#kit.tasks.failBatch(tx, batchId);
          return outcome.ready + (await this.#kit.tasks.skip(tx, outcome.skip));
        },
        { retries: 3 },
      );
    const ready = await this.#insist(task, work);
    if (ready === undefined) return 'lost';
    this.#kit.options.logger.warn({ ...taskFields(task), ...error }, 'A task failed for good');
    this.#kit.afterEnd(ready);
    return 'failed';
  }

  async #giveBack(
    task: ClaimedTask,
    how: Omit<TaskReturn, 'id' | 'claimId' | 'batchId'>,
  ): Promise<TaskResult> {
    const { id, claimId, batchId } = task;
    const outcome = await this.#insist(task, () =>
      this.#kit.tasks.giveBack([{ id, claimId, batchId, ...how }]),
    );
    if (!outcome?.ready.has(id) && !outcome?.cancelled.has(id)) return 'lost';
    this.#kit.afterEnd(how.delayMs === 0 ? outcome.ready.size : 0);
    if (how.lost) return 'lost';
    return how.attemptReturned ? 'returned' : 'retried';
  }

  /** Retries while the database is unavailable. After that the lease expires. */
  async #insist<T>(task: ExpiredTask, work: () => Promise<T>): Promise<T | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (ERRORS.is(error, 'CLAIM_LOST')) return undefined;
        if (!isTransient(error) || attempt === WRITE_ATTEMPTS) {
          this.#kit.options.logger.warn(
            { ...taskFields(task), reason: String(error) },
            'The end of a task could not be written; its lease will end',
          );
          return undefined;
        }
        await sleep(this.#kit.options.clock, pauseMs(attempt, WRITE_PAUSE_MAX_MS));
      }
    }
  }

  #lostError = (lost: number): Failure =>
    recordOf(toWorkError(ERRORS.create('TASK_LOST', { times: lost + 1 })));

  /** Emits the end of an attempt to the listeners in this process. */
  note({ handler, tenant, batchId, taskKey }: ClaimedTask, result: TaskResult, durationMs: number): void {
    this.#kit.events.emit('task', { handler, result, durationMs, tenant, batchId, taskKey });
  }

  /** Returns whole milliseconds. Jitter shortens the delay, so that tasks that failed together do not return together. */
  async #retryDelayMs(task: ClaimedTask, handler: TaskHandler, error: unknown): Promise<number> {
    const baseMs = await this.#firstDelayMs(task, handler);
    const { attempt } = task;
    const maxMs = this.#kit.options.backoffMaxMs;
    const delayMs = backoffMs({ strategy: handler.backoff, attempt, error, baseMs, maxMs });
    return Math.floor(withJitter(delayMs, -handler.jitter, this.#kit.options.rng.next()));
  }

  /** Reads the delay from the definition of the batch. An added task uses its handler's. */
  async #firstDelayMs({ id }: ClaimedTask, handler: TaskHandler): Promise<number> {
    if (typeof handler.backoff === 'function') return handler.backoffMs;
    return (await this.#kit.tasks.backoffMs(id).catch(() => undefined)) ?? handler.backoffMs;
  }
}

/** Removes characters that PostgreSQL cannot store, so that a failure is stored whatever its text is. */
const storable = (text: string): string => text.replaceAll('\0', '').replaceAll(/\p{Surrogate}/gu, '\uFFFD');

const recordOf = ({ code, message }: Failure): Failure => ({
  code: storable(code),
  message: storable(message),
});
