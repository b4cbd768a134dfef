import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { type Asking, asksServer, nextCommand } from '../../ask/asking.js';
import { givenPayload, type PayloadOptions, payloadOptions } from '../../ask/given-json.js';
import { moment } from '../../show/amounts.js';
import type { End, Surroundings } from '../../surroundings.js';
import { watchBatch } from '../batches/watch-batch.js';

interface BatchOptions extends PayloadOptions {
  readonly dag: string;
  readonly bizKey?: string;
  readonly tenant?: string;
  readonly rerun?: true;
  readonly watch?: true;
}

/** `millrace submit batch`. */
export function batchCommand(surroundings: Surroundings, end: End): Command {
  const batch = new Command('batch')
    .description('Start a batch, a run of a DAG.')
    .argument('<dag>', 'The name of the DAG.')
    .option('--biz-key <key>', 'Names the batch: the same key is the same batch (random).')
    .option('--rerun', 'Another run when the latest one of the key has ended.')
    .option('--tenant <tenant>', 'Whose it is.')
    .option('--watch', 'Wait for the end; the exit code is 0 when it is DONE, else 1.');
  return asksServer<BatchOptions>(payloadOptions(batch), surroundings, end, submitBatch);
}

async function submitBatch(asking: Asking, options: BatchOptions): Promise<number | undefined> {
  const { client, signal, printer } = asking;
  const { dag, bizKey = randomUUID(), tenant, rerun, watch } = options;
  const payload = await givenPayload(asking, options);
  const body = { dag, bizKey, tenant, payload, ifEnded: rerun ? ('rerun' as const) : undefined };
  const batch = await client.call('startBatch', { body }, { signal });
  const { id, created, status, runNo, taskCount, createdAt } = batch;
  if (!created)
    printer.remark(`The key has this batch already: ${status}. --rerun runs one that has ended again.`);
  if (options.bizKey === undefined && watch) printer.remark(`Its key: ${bizKey}`);
  if (watch) return watchBatch(asking, id);
  asking.answer(batch, () => {
    printer.fields({
      batch: id,
      dag,
      key: bizKey,
      run: String(runNo),
      status,
      tasks: String(taskCount),
      created: moment(createdAt),
    });
    printer.remark(`To watch it: ${nextCommand(asking, 'batches', 'watch', id)}`);
  });
  return undefined;
}
