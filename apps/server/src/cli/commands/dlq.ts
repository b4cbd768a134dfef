import type { ResponseOf } from '@millrace/contract/server-client';
import { Command, Option } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { type PageOptions, pageOptions, remarkMore } from '../ask/options.js';
import { amount, moment } from '../show/amounts.js';
import type { Column } from '../show/printer.js';
import { shortened } from '../show/text.js';
import type { End, Surroundings } from '../surroundings.js';
import { letterName } from './dlq/letters.js';
import { moveCommand } from './dlq/move.js';

/** `millrace dlq`: lists, redrives and purges dead letters. */
export function dlqCommand(surroundings: Surroundings, end: End): Command {
  return new Command('dlq')
    .description('Dead letters, bulk jobs that failed for good: look at them, run them again.')
    .addCommand(listCommand(surroundings, end))
    .addCommand(moveCommand('redrive', surroundings, end))
    .addCommand(moveCommand('purge', surroundings, end))
    .addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
Examples:
  $ millrace dlq list --by-signature            what goes wrong, and how often
  $ millrace dlq redrive --group campaign-7     run them again, once the cause is gone`;

type Page = ResponseOf<'listDeadLetters'>;
type Letter = NonNullable<Page['items']>[number];
type Cause = NonNullable<Page['signatures']>[number];

interface Options extends PageOptions {
  readonly group?: string;
  readonly signature?: string;
  readonly bySignature?: boolean;
}

const NONE = 'There are no such dead letters.';
const ERROR_CHARACTERS_MAX = 80;

const LETTER_COLUMNS: readonly Column<Letter>[] = [
  { name: 'letter', of: ({ job }) => letterName({ groupId: job.groupId, jobId: job.id }) },
  { name: 'failed', of: ({ failedAt }) => moment(failedAt) },
  { name: 'tries', of: ({ job }) => amount(job.attempts), isNumber: true },
  { name: 'code', of: ({ code }) => code },
  { name: 'error', of: ({ error }) => shortened(error, ERROR_CHARACTERS_MAX) },
];

/** The signature is not cut: `redrive` wants the whole. It has its numbers and names masked: one message with them tells more. */
const CAUSE_COLUMNS: readonly Column<Cause>[] = [
  { name: 'letters', of: ({ count }) => amount(count), isNumber: true },
  { name: 'last', of: ({ lastFailedAt }) => moment(lastFailedAt) },
  { name: 'signature', of: ({ signature }) => signature },
  { name: 'such as', of: ({ sample }) => shortened(sample.message, ERROR_CHARACTERS_MAX) },
];

function listCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List dead letters, the newest first; or their causes, the most frequent first.')
    .addOption(
      new Option('--by-signature', 'Count them by cause instead.').conflicts(['signature', 'cursor']),
    )
    .option('--group <group>', 'Only those of this group.')
    .option('--signature <signature>', 'Only those of this cause, as --by-signature shows it.');
  return asksServer<Options>(pageOptions(list), surroundings, end, (asking, options) =>
    options.bySignature ? listCauses(asking, options) : listLetters(asking, options),
  );
}

async function listLetters(asking: Asking, options: Options): Promise<undefined> {
  const { client, signal } = asking;
  const { group: groupId, signature, limit, cursor } = options;
  const query = { groupId, signature, limit, cursor };
  const page = await client.call('listDeadLetters', { query }, { signal });
  asking.answer(page, (printer) => {
    printer.table(LETTER_COLUMNS, page.items ?? [], NONE);
    remarkMore(printer, page.cursor ?? null);
  });
}

async function listCauses(asking: Asking, { group: groupId, limit }: Options): Promise<undefined> {
  const { client, signal } = asking;
  const query = { groupId, limit, groupBy: 'signature' } as const;
  const page = await client.call('listDeadLetters', { query }, { signal });
  const causes = page.signatures ?? [];
  asking.answer(page, (printer) => {
    printer.table(CAUSE_COLUMNS, causes, NONE);
    if (causes.length === limit) printer.remark('There may be more: --limit shows more at once.');
  });
}
