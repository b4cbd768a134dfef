import { Command, Option } from 'commander';
import { type Asking, asksServer } from '../../ask/asking.js';
import { type PageOptions, pageOptions, remarkMore } from '../../ask/options.js';
import { amount, moment } from '../../show/amounts.js';
import type { Column } from '../../show/printer.js';
import type { End, Surroundings } from '../../surroundings.js';
import { type Group, statusOf } from './show-group.js';

interface ListOptions extends PageOptions {
  readonly status?: Group['status'];
  readonly tenant?: string;
}

/** All of them: the compiler misses none. */
const STATUSES: Readonly<Record<Group['status'], true>> = {
  CREATED: true,
  DISPATCHED: true,
  RUNNING: true,
  AGGREGATING: true,
  COMPLETED: true,
  FAILED: true,
  CANCELLED: true,
};

const COLUMNS: readonly Column<Group>[] = [
  { name: 'group', of: ({ id }) => id },
  { name: 'status', of: statusOf },
  {
    name: 'done',
    of: ({ progress }) => `${amount(progress.done)} of ${amount(progress.registered)}`,
    isNumber: true,
  },
  { name: 'failed', of: ({ progress }) => amount(progress.failed), isNumber: true },
  { name: 'per second', of: ({ settledPerSecond }) => amount(settledPerSecond), isNumber: true },
  { name: 'created', of: ({ createdAt }) => moment(createdAt) },
];

/** `millrace groups list`. */
export function listCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List groups, the newest first.')
    .addOption(new Option('--status <status>', 'Only those in this state.').choices(Object.keys(STATUSES)))
    .option('--tenant <tenant>', 'Only those of this tenant.');
  return asksServer<ListOptions>(pageOptions(list), surroundings, end, listGroups);
}

async function listGroups(asking: Asking, options: ListOptions): Promise<undefined> {
  const { status, tenant, limit, cursor } = options;
  const { client, signal } = asking;
  const page = await client.call('listGroups', { query: { status, tenant, limit, cursor } }, { signal });
  asking.answer(page, (printer) => {
    printer.table(COLUMNS, page.items, 'There are no such groups.');
    remarkMore(printer, page.cursor);
  });
}
