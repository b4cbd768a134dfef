import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import { toWorkError } from '@millrace/foundation';
import type { Outbox } from '@millrace/outbox';
import type { Ledger } from '@millrace/testkit/ledger';
import { mendedMark } from './perform.js';
import { type Plan, type PlannedBatch, tasksOf } from './plan.js';

/** With what a process acts on batches. */
export interface FollowParts {
  readonly plan: Plan;
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  /** Where repairs are marked. */
  readonly marks: string;
  /** Business keys of batches whose abort has been answered already. */
  readonly aborted: ReadonlySet<unknown>;
  /** Bounds how many calls there are at once. */
  readonly limited: <T>(call: () => Promise<T>) => Promise<T>;
}

const AGAIN_MS = 50;
/** Seldom: dozens of batches are waited for at once, and those who ask are not to be the load. */
const LOOK_EVERY_MS = 400;
const FAILED_MAX = 1000;

/** The outbox has been stopped under a call: all is over. */
export class Stopped extends Error {}

/**
 * Calls until it is answered; the ledger is told of every refusal.
 * @param parts - ledger, and how many calls at once.
 * @throws Stopped.
 */
export async function untilAnswered<T>(
  call: () => Promise<T>,
  { ledger, limited }: Pick<FollowParts, 'ledger' | 'limited'>,
  bizKey: string,
): Promise<T> {
  for (;;) {
    try {
      return await limited(call);
    } catch (error) {
      const { code, message } = toWorkError(error);
      if (code === 'SERVICE_STOPPED') throw new Stopped();
      ledger.append({ kind: 'refused', batch: bizKey, code, message: message.slice(0, 300) });
      await wait(AGAIN_MS);
    }
  }
}

/**
 * Does to a batch what its story says. Several processes do, at the same time and over again when they were killed: each must be able to
 * come too late. The ledger is told when nothing is left to do.
 * @throws Stopped.
 */
export async function follow(batch: PlannedBatch, id: string, parts: FollowParts): Promise<void> {
  const { bizKey, story = {} } = batch;
  const { outbox, ledger } = parts;
  // Not twice: what was aborted may have been retried since.
  if (story.abortAfterMs !== undefined && !parts.aborted.has(bizKey)) {
    await wait(story.abortAfterMs);
    const { status } = await untilAnswered(() => outbox.batches.abort(id), parts, bizKey);
    ledger.append({ kind: 'abort-answered', batch: bizKey, status });
  }
  if (story.mends) await mendUntilDone(batch, id, parts);
  ledger.append({ kind: 'settled', batch: bizKey });
}

async function mendUntilDone(batch: PlannedBatch, id: string, parts: FollowParts): Promise<void> {
  const { bizKey, story } = batch;
  const { outbox, marks } = parts;
  for (;;) {
    const { status } = await untilAnswered(() => outbox.batches.get(id), parts, bizKey);
    if (status === 'DONE') return;
    if (status === 'RUNNING') {
      await wait(LOOK_EVERY_MS);
      continue;
    }
    // Not before it has ended: a task that still runs would fail or not, depending on when.
    writeFileSync(join(marks, mendedMark(bizKey)), '');
    if (story?.mends === 'failing') await retryFailed(batch, id, parts);
    else {
      await untilAnswered(() => outbox.batches.retry(id), parts, bizKey);
      parts.ledger.append({ kind: 'retried', batch: bizKey });
    }
  }
}

/** Retries each task that failed its batch. */
async function retryFailed(batch: PlannedBatch, id: string, parts: FollowParts): Promise<void> {
  const { plan, outbox, ledger } = parts;
  const { bizKey } = batch;
  const { items } = await untilAnswered(
    () => outbox.batches.tasks(id, { status: 'FAILED', limit: FAILED_MAX }),
    parts,
    bizKey,
  );
  const failed = new Set(items.map(({ key }) => key));
  for (const { key, onFailure = 'fail' } of tasksOf(plan, batch)) {
    if (onFailure !== 'fail' || !failed.has(key)) continue;
    const how = await untilAnswered(() => retryTask(outbox, id, key), parts, bizKey);
    ledger.append({ kind: 'task-retried', batch: bizKey, task: key, how });
  }
}

/** Another process, or a call of ours whose answer was lost, may have done it: that is an answer, too. */
async function retryTask(outbox: Outbox, id: string, key: string): Promise<'retried' | 'too-late'> {
  try {
    await outbox.batches.retryTask(id, key);
    return 'retried';
  } catch (error) {
    if (toWorkError(error).code === 'TASK_NOT_RETRYABLE') return 'too-late';
    throw error;
  }
}
