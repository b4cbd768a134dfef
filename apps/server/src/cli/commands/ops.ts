import type { ResponseOf } from '@millrace/contract/server-client';
import { Command, Option } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { type PageOptions, pageOptions, positiveNumber, remarkMore } from '../ask/options.js';
import { type End, EXIT, type Surroundings } from '../surroundings.js';
import { OPERATION_COLUMNS, showOperation } from './ops/show-operation.js';
import { waitForOperation } from './ops/wait-for-operation.js';

type State = ResponseOf<'getOperationStatus'>['state'];

/** All of them: the compiler misses none. */
const STATES: Readonly<Record<State, true>> = {
  PENDING: true,
  IN_PROGRESS: true,
  COMPLETED: true,
  FAILED: true,
};

const WAIT_SECONDS = 60;

interface OneOperation {
  readonly operation: string;
}

interface ListOptions extends PageOptions {
  readonly domain?: string;
  readonly eventType?: string;
  readonly bizKey?: string;
  readonly state?: State;
  readonly deadLetters?: true;
}

/** `millrace ops`: looks at operations, waits for them, cancels them. */
export function opsCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List operations, the newest first.')
    .option('--domain <domain>', 'Only those of this domain.')
    .option('--event-type <type>', 'Only those of this event type.')
    .option('--biz-key <key>', 'Only those of this business key.')
    .addOption(new Option('--state <state>', 'Only those in this state.').choices(Object.keys(STATES)))
    .option('--dead-letters', 'Only those that their work has failed.');
  const wait = of(
    'wait',
    'Wait for the end of an operation. The exit code is 0 when it is COMPLETED, else 1.',
  );
  wait.option('--timeout <seconds>', 'The longest wait.', positiveNumber, WAIT_SECONDS);
  const show = of('show', 'Show an operation.');
  const cancel = of('cancel', 'Cancel an operation, and the work behind it.');
  type WaitOptions = OneOperation & { readonly timeout: number };
  return new Command('ops')
    .description('Operations, what was asked of the front door: look at them, wait for them.')
    .addCommand(asksServer<ListOptions>(pageOptions(list), surroundings, end, listOperations))
    .addCommand(asksServer<OneOperation>(show, surroundings, end, showOne))
    .addCommand(asksServer<WaitOptions>(wait, surroundings, end, waitForOne))
    .addCommand(asksServer<OneOperation>(cancel, surroundings, end, cancelOne));
}

const of = (name: string, description: string): Command =>
  new Command(name).description(description).argument('<operation>', 'Its id.');

async function listOperations(asking: Asking, options: ListOptions): Promise<undefined> {
  const { client, signal } = asking;
  const { domain, eventType, bizKey, state, deadLetters, limit, cursor } = options;
  const query = {
    ...{ domain, eventType, bizKey, state, limit, cursor },
    deadLetter: deadLetters ? ('true' as const) : undefined,
  };
  const page = await client.call('listOperations', { query }, { signal });
  asking.answer(page, (printer) => {
    printer.table(OPERATION_COLUMNS, page.items, 'There are no such operations.');
    remarkMore(printer, page.cursor);
  });
}

async function showOne(asking: Asking, { operation: opId }: OneOperation): Promise<undefined> {
  const { client, signal } = asking;
  const operation = await client.call('getOperationStatus', { params: { opId } }, { signal });
  asking.answer(operation, (printer) => showOperation(printer, operation));
}

const waitForOne = (
  asking: Asking,
  { operation, timeout }: OneOperation & { readonly timeout: number },
): Promise<number> => waitForOperation(asking, operation, { timeoutMs: timeout * 1000 });

async function cancelOne(asking: Asking, { operation: opId }: OneOperation): Promise<number> {
  const { client, signal } = asking;
  const answer = await client.call('cancelOperation', { params: { opId } }, { signal });
  const { cancelled, operation } = answer;
  asking.answer(answer, (printer) =>
    printer.line(
      cancelled
        ? `Operation ${opId} is cancelled.`
        : `Operation ${opId} is ${operation.state}: ${operation.endedAt === null ? 'it still has to end.' : 'it had ended before.'}`,
    ),
  );
  // Whoever asked for an end has it, or will; one that came to another end before cannot be cancelled.
  return cancelled || operation.endedAt === null ? EXIT.DONE : EXIT.FAILED;
}
