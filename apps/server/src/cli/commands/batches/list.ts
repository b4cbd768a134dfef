import type { ResponseOf } from '@millrace/contract/server-client';
import { Command, Option } from 'commander';
import { asksServer } from '../../ask/asking.js';
import { type PageOptions, pageOptions, remarkMore } from '../../ask/options.js';
import { amount, moment } from '../../show/amounts.js';
import type { Column } from '../../show/printer.js';
import type { End, Surroundings } from '../../surroundings.js';

type Batch = ResponseOf<'listBatches'>['items'][number];
type Status = Batch['status'];

/** All of them: the compiler misses none. */
const STATUSES: Readonly<Record<Status, true>> = { RUNNING: true, DONE: true, FAILED: true, ABORTED: true };

const COLUMNS: readonly Column<Batch>[] = [
  { name: 'batch', of: ({ id }) => id },
  { name: 'dag', of: ({ dag }) => dag },
  { name: 'key', of: ({ bizKey }) => bizKey },
  { name: 'run', of: ({ runNo }) => amount(runNo), isNumber: true },
  { name: 'status', of: ({ status }) => status },
  {
    name: 'ended',
    of: ({ taskCount, openCount }) => `${amount(taskCount - openCount)} of ${amount(taskCount)}`,
    isNumber: true,
  },
  { name: 'created', of: ({ createdAt }) => moment(createdAt) },
];

interface Options extends PageOptions {
  readonly dag?: string;
  readonly status?: Status;
  readonly bizKey?: string;
  readonly tenant?: string;
}

/** `millrace batches list`. */
export function listCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List batches, the newest first.')
    .option('--dag <dag>', 'Only those of this DAG.')
    .addOption(new Option('--status <status>', 'Only those in this state.').choices(Object.keys(STATUSES)))
    .option('--biz-key <key>', 'Only those of this business key.')
    .option('--tenant <tenant>', 'Only those of this tenant.');
  return asksServer<Options>(pageOptions(list), surroundings, end, async (asking, options) => {
    const { dag, status, bizKey, tenant, limit, cursor } = options;
    const { client, signal } = asking;
    const query = { dag, status, bizKey, tenant, limit, cursor };
    const page = await client.call('listBatches', { query }, { signal });
    asking.answer(page, (printer) => {
      printer.table(COLUMNS, page.items, 'There are no such batches.');
      remarkMore(printer, page.cursor);
    });
    return undefined;
  });
}
