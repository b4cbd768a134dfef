import type { RequestOf, ResponseOf } from '@millrace/contract/server-client';
import { Command } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { givenJson } from '../ask/given-json.js';
import { type PageOptions, pageOptions, remarkMore } from '../ask/options.js';
import { amount, moment, pluralize } from '../show/amounts.js';
import type { Column } from '../show/printer.js';
import { shortened } from '../show/text.js';
import type { End, Surroundings } from '../surroundings.js';

type Dag = ResponseOf<'listDags'>['items'][number];

const STEPS_CHARACTERS_MAX = 80;

const COLUMNS: readonly Column<Dag>[] = [
  { name: 'dag', of: ({ name }) => name },
  { name: 'version', of: ({ version }) => amount(version), isNumber: true },
  { name: 'from', of: ({ applied }) => (applied ? 'data' : 'the application') },
  { name: 'since', of: ({ registeredAt }) => moment(registeredAt) },
  { name: 'steps', of: ({ taskCount }) => amount(taskCount), isNumber: true },
  {
    name: 'in order',
    of: ({ tasks }) => shortened(tasks.map(({ key }) => key).join(', '), STEPS_CHARACTERS_MAX),
  },
];

/** `millrace dags`: looks at DAGs, and applies one as data. */
export function dagsCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list').description('List DAGs, each in the version that new batches take.');
  const apply = new Command('apply')
    .description('Apply a DAG as data: new batches of its name take it, running ones keep theirs.')
    .argument('<file>', 'The DAG as JSON; - is standard input.')
    .addHelpText('after', EXAMPLE);
  return new Command('dags')
    .description('DAGs, the plans of batches: look at them, apply one.')
    .addCommand(asksServer<PageOptions>(pageOptions(list), surroundings, end, listDags))
    .addCommand(asksServer<{ readonly file: string }>(apply, surroundings, end, applyDag));
}

const EXAMPLE = `
Example (the handlers are steps that the application has):
  $ echo '{ "name": "order-fast", "tasks": {
      "charge": { "handler": "order.charge" },
      "ship": { "handler": "order.ship", "after": ["charge"], "retries": 5 } } }' |
    millrace dags apply -`;

async function listDags(asking: Asking, { limit, cursor }: PageOptions): Promise<undefined> {
  const { client, signal } = asking;
  const page = await client.call('listDags', { query: { limit, cursor } }, { signal });
  asking.answer(page, (printer) => {
    printer.table(COLUMNS, page.items, 'There are no DAGs.');
    remarkMore(printer, page.cursor);
  });
}

async function applyDag(asking: Asking, { file }: { readonly file: string }): Promise<undefined> {
  const { client, signal } = asking;
  // The server checks it: it knows the handlers, too.
  const body = (await givenJson(asking, file)) as RequestOf<'applyDag'>['body'];
  const applied = await client.call('applyDag', { body }, { signal });
  const { name, version, taskCount, created } = applied;
  asking.answer(applied, (printer) =>
    printer.line(
      created
        ? `DAG ${name} is now version ${version}, with ${pluralize(taskCount, 'step')}.`
        : `DAG ${name} is version ${version}, with ${pluralize(taskCount, 'step')}: it was stored already.`,
    ),
  );
}
