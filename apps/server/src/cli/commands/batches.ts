import type { ResponseOf } from '@millrace/contract/server-client';
import { Command } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { positiveNumber } from '../ask/options.js';
import { type End, EXIT, type Surroundings } from '../surroundings.js';
import { listCommand } from './batches/list.js';
import { resultsOf, showBatch } from './batches/show-batch.js';
import { watchBatch } from './batches/watch-batch.js';

interface OneBatch {
  readonly batch: string;
}

/** `millrace batches`: looks at runs of DAGs, ends and repeats them. */
export function batchesCommand(surroundings: Surroundings, end: End): Command {
  const show = asksServer<OneBatch>(
    of('show', 'Show a batch and its tasks.'),
    surroundings,
    end,
    async (asking, { batch: batchId }) => {
      const { client, signal } = asking;
      const details = await client.call('getBatch', { params: { batchId } }, { signal });
      const results = await resultsOf(asking, details);
      asking.answer(details, (printer) => showBatch(printer, details, results));
      return undefined;
    },
  );
  const watch = asksServer<OneBatch & { readonly timeout?: number }>(
    of('watch', 'Watch a batch until it has ended. The exit code is 0 when it is DONE, else 1.').option(
      '--timeout <seconds>',
      'The longest wait; no limit unless given.',
      positiveNumber,
    ),
    surroundings,
    end,
    (asking, { batch, timeout }) =>
      watchBatch(asking, batch, { timeoutMs: timeout === undefined ? undefined : timeout * 1000 }),
  );
  const retry = asksServer<OneBatch & { readonly task?: string }>(
    of('retry', 'Run again what failed or was cancelled; what is done stays done.').option(
      '--task <key>',
      'Only this task, and what did not run because of it.',
    ),
    surroundings,
    end,
    retryBatch,
  );
  const abort = asksServer<OneBatch>(
    of('abort', 'End a batch now: what waits is cancelled, what runs is told so.'),
    surroundings,
    end,
    abortBatch,
  );
  const batches = new Command('batches').description('Batches, runs of DAGs: look at them, repeat them.');
  for (const command of [listCommand(surroundings, end), show, watch, retry, abort])
    batches.addCommand(command);
  return batches;
}

const of = (name: string, description: string): Command =>
  new Command(name).description(description).argument('<batch>', 'Its id.');

async function retryBatch(
  asking: Asking,
  { batch: batchId, task: taskKey }: OneBatch & { readonly task?: string },
): Promise<undefined> {
  const { client, signal } = asking;
  const batch =
    taskKey === undefined
      ? await client.call('retryBatch', { params: { batchId } }, { signal })
      : await client.call('retryBatchTask', { params: { batchId, taskKey } }, { signal });
  sayStatus(asking, batch, batch.status === 'RUNNING' ? '' : ': there is nothing to run again');
}

/** One that came to another end before cannot be aborted: whoever wanted that is told so by the exit code, too. */
async function abortBatch(asking: Asking, { batch: batchId }: OneBatch): Promise<number> {
  const { client, signal } = asking;
  const batch = await client.call('abortBatch', { params: { batchId } }, { signal });
  const isAborted = batch.status === 'ABORTED';
  sayStatus(asking, batch, isAborted ? '' : ': it had ended before');
  return isAborted ? EXIT.DONE : EXIT.FAILED;
}

const sayStatus = (asking: Asking, batch: ResponseOf<'abortBatch'>, why: string): void =>
  asking.answer(batch, (printer) => printer.line(`Batch ${batch.id} is ${batch.status}${why}.`));
