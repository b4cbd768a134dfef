import { createInterface } from 'node:readline/promises';
import { ProblemError } from '@millrace/contract/server-client';
import { Command, Option } from 'commander';
import { type Asking, asksServer, nextCommand } from '../../ask/asking.js';
import { wholeNumber } from '../../ask/options.js';
import { AdvisedError } from '../../failure.js';
import { pluralize } from '../../show/amounts.js';
import { safeText } from '../../show/text.js';
import { type End, EXIT, type Surroundings } from '../../surroundings.js';
import { countLetters, type LetterId, letterIds, type Selection } from './letters.js';

/** What can be done with dead letters. */
export type Move = 'redrive' | 'purge';

interface Options {
  readonly ids?: readonly LetterId[];
  readonly group?: string;
  readonly signature?: string;
  readonly all?: true;
  readonly expect?: number;
  readonly yes?: boolean;
}

const WORDS = {
  redrive: {
    description: 'Run dead letters again, with fresh retries; a group that has ended opens its next round.',
    question: (which: string) => `Run ${which} again?`,
    done: (count: string) => `${count} went back.`,
  },
  purge: {
    description: 'Throw dead letters away for good. Their jobs stay failed.',
    question: (which: string) => `Throw ${which} away for good?`,
    done: (count: string) => `${count} thrown away.`,
  },
} as const satisfies Record<Move, unknown>;

/** `millrace dlq redrive` or `millrace dlq purge`. */
export function moveCommand(move: Move, surroundings: Surroundings, end: End): Command {
  const ways = [
    new Option('--ids <ids>', 'These, as `dlq list` shows them: group/job,group/job.').argParser(letterIds),
    new Option('--group <group>', 'Those of this group.'),
    new Option('--signature <signature>', 'Those of this cause, as `dlq list --by-signature` shows it.'),
    new Option('--all', 'All of them.'),
  ];
  const command = new Command(move).description(WORDS[move].description).optionsGroup('Which (one of):');
  for (const way of ways) {
    const others = ways.filter((other) => other !== way).map((other) => other.attributeName());
    command.addOption(way.conflicts(others));
  }
  command
    .optionsGroup('Options:')
    .option('--yes', 'Do not ask.')
    .option('--expect <count>', 'Do not ask, but move nothing unless there are so many.', wholeNumber);
  return asksServer<Options>(command, surroundings, end, (asking, options) =>
    moveLetters(asking, move, options),
  );
}

async function moveLetters(asking: Asking, move: Move, options: Options): Promise<number> {
  const { ids, group: groupId, signature, all, expect } = options;
  const selection: Selection = { ids, groupId, signature, all };
  if (Object.values(selection).every((way) => way === undefined))
    return asking.command.error('error: say which: --ids, --group, --signature or --all');
  const count = expect ?? (await countLetters(asking, selection));
  if (count === undefined)
    return asking.command.error('error: they are too many to be counted: say how many with --expect');
  if (count === 0 && expect === undefined) {
    asking.answer({ count: 0 }, (printer) => printer.remark('There are no such dead letters.'));
    return EXIT.DONE;
  }
  const isConfirmed = options.yes === true || expect !== undefined;
  const which = `${pluralize(count, 'dead letter')}${selectedBy(selection)}`;
  if (!(await confirm(asking, WORDS[move].question(which), isConfirmed))) {
    asking.printer.remark('Nothing was done.');
    return EXIT.FAILED;
  }
  return send(asking, move, selection, count);
}

/** Counted before, confirmed: what has died or gone since is noticed by the server, which then moves nothing. */
async function send(asking: Asking, move: Move, selection: Selection, count: number): Promise<number> {
  const { client, signal, printer } = asking;
  const body = { ...selection, ids: selection.ids?.map((id) => ({ ...id })), expectedCount: count };
  const id = move === 'redrive' ? 'redriveDeadLetters' : 'purgeDeadLetters';
  try {
    const answer = await client.call(id, { body }, { signal });
    asking.answer(answer, () => printer.line(WORDS[move].done(pluralize(answer.count, 'dead letter'))));
    return EXIT.DONE;
  } catch (error) {
    const look = `To look: ${lookAgain(asking, selection)}`;
    if (error instanceof ProblemError && error.code === 'COUNT_CHANGED')
      throw new AdvisedError(error, [`Nothing was done. ${look}`]);
    // Who interrupts is told nothing else.
    if (signal.aborted) printer.remark(`Some may have been moved. ${look}`);
    throw mayBeDone(error) ? new AdvisedError(error, [`Some may have been moved. ${look}`]) : error;
  }
}

/** What is said of a connection that never was. */
const NOT_SENT: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
];

/** The request went out, and no answer says that it was refused. */
const mayBeDone = (error: unknown): boolean =>
  error instanceof ProblemError
    ? error.status >= 500
    : !NOT_SENT.includes(((error as Error).cause as { readonly code?: unknown } | undefined)?.code);

function selectedBy({ ids, groupId, signature }: Selection): string {
  if (groupId !== undefined) return ` of group ${groupId}`;
  if (signature !== undefined) return ` of the cause '${signature}'`;
  return ids ? ' that were named' : ', all there are,';
}

const lookAgain = (asking: Asking, { groupId, signature }: Selection): string =>
  nextCommand(
    asking,
    ...['dlq', 'list'],
    ...(groupId === undefined ? [] : ['--group', groupId]),
    ...(signature === undefined ? [] : ['--signature', signature]),
  );

/**
 * Asks the user to confirm a change. Ends the command with a usage error if there is no terminal to ask on.
 * @param isConfirmed - true skips the question.
 */
async function confirm(asking: Asking, question: string, isConfirmed: boolean): Promise<boolean> {
  if (isConfirmed) return true;
  const { stdin, stderr } = asking.surroundings;
  if (!stdin.isTTY || !stderr.isTTY)
    return asking.command.error(
      `error: ${safeText(question)} Pass --yes to confirm: there is no terminal to ask on.`,
    );
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  try {
    const answer = await lines.question(`${safeText(question)} [y/N] `, { signal: asking.signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
