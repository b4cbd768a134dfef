import type { AnswerOf } from '@millrace/contract/server-client';
import { Command } from 'commander';
import { asksServer } from '../ask/asking.js';
import { type PageOptions, pageOptions, remarkMore } from '../ask/pages.js';
import { amount, moment } from '../show/amounts.js';
import type { Column } from '../show/printer.js';
import type { End, Surroundings } from '../surroundings.js';

type Group = AnswerOf<'getGroup'>;

/**
 * `millrace groups`: looks at groups of bulk jobs and changes them.
 * @param surroundings - see Surroundings.
 * @param end - takes the exit code.
 */
export function groupsCommand(surroundings: Surroundings, end: End): Command {
  const groups = new Command('groups').description('Groups of bulk jobs: look at them, change them.');
  groups.addCommand(listCommand(surroundings, end));
  return groups;
}

const COLUMNS: readonly Column<Group>[] = [
  { name: 'group', of: ({ id }) => id },
  { name: 'status', of: ({ status, paused }) => (paused ? `${status} (paused)` : status) },
  {
    name: 'done',
    of: ({ progress }) => `${amount(progress.done)} of ${amount(progress.registered)}`,
    isNumber: true,
  },
  { name: 'failed', of: ({ progress }) => amount(progress.failed), isNumber: true },
  { name: 'per second', of: ({ settledPerSecond }) => amount(settledPerSecond), isNumber: true },
  { name: 'created', of: ({ createdAt }) => moment(createdAt) },
];

function listCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List groups, the newest first.')
    .option('--status <status>', 'Only those in this state, such as RUNNING.')
    .option('--tenant <tenant>', 'Only those of this tenant.');
  interface Options extends PageOptions {
    readonly status?: Group['status'];
    readonly tenant?: string;
  }
  return asksServer<Options>(pageOptions(list), surroundings, end, async (asking, options) => {
    const { status, tenant, limit, cursor } = options;
    const { client, signal } = asking;
    const page = await client.call('listGroups', { query: { status, tenant, limit, cursor } }, { signal });
    asking.answer(page, (printer) => {
      printer.table(COLUMNS, page.items, 'There are no such groups.');
      remarkMore(printer, page.cursor);
    });
    return undefined;
  });
}
