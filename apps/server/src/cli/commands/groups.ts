import { Command } from 'commander';
import { type Asking, asksServer, nextCommand } from '../ask/asking.js';
import { positiveNumber, wholeNumber } from '../ask/options.js';
import { type End, EXIT, type Surroundings } from '../surroundings.js';
import { explainFirstWaiting, standsStill, waitsFor } from './groups/first-waiting.js';
import { givenLimits, type LimitOptions, limitOptions } from './groups/limit-options.js';
import { listCommand } from './groups/list.js';
import { type Group, type MoreOfGroup, showGroup, showResult, statusOf } from './groups/show-group.js';
import { resultOf, watchGroup } from './groups/watch-group.js';

interface OneGroup {
  readonly group: string;
}
type ShowOptions = OneGroup & { readonly result?: true };
type WatchOptions = OneGroup & { readonly timeout?: number };
type SealOptions = OneGroup & { readonly total?: number };

/** `millrace groups`: looks at groups of bulk jobs and changes them. */
export function groupsCommand(surroundings: Surroundings, end: End): Command {
  const show = of('show', 'Show a group, and what came of it when it has ended.').option(
    '--result',
    'Show only what came of it.',
  );
  const watch = of(
    'watch',
    'Watch a group until it has ended. The exit code is 0 when it is COMPLETED, else 1.',
  ).option('--timeout <seconds>', 'The longest wait (no limit).', positiveNumber);
  const seal = of('seal', 'Say that a group has all its jobs: it completes when they are done.').option(
    '--total <count>',
    'Refused unless it has so many.',
    wholeNumber,
  );
  const set = limitOptions(
    of('set', 'Change weight and limits of a group; it acts at once, also on what is queued.'),
    true,
  );
  set.addHelpText('after', '\nExample:\n  millrace groups set nightly --rps 50 --concurrency none');
  const paused =
    (isPaused: boolean) =>
    (asking: Asking, { group }: OneGroup) =>
      pause(asking, group, isPaused);
  const cancel = of('cancel', 'Cancel a group: none of its jobs starts any more.');
  return new Command('groups')
    .description('Groups of bulk jobs: look at them, change them.')
    .addCommand(listCommand(surroundings, end))
    .addCommand(asksServer<ShowOptions>(show, surroundings, end, showOne))
    .addCommand(
      asksServer<WatchOptions>(watch, surroundings, end, (asking, { group, timeout }) =>
        watchGroup(asking, group, timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
      ),
    )
    .addCommand(asksServer<OneGroup>(cancel, surroundings, end, cancelOne))
    .addCommand(
      asksServer<OneGroup>(
        of('pause', 'Pause a group: none of its jobs starts until it is resumed; those that run go on.'),
        surroundings,
        end,
        paused(true),
      ),
    )
    .addCommand(
      asksServer<OneGroup>(of('resume', 'Let a paused group go on.'), surroundings, end, paused(false)),
    )
    .addCommand(asksServer<SealOptions>(seal, surroundings, end, sealOne))
    .addCommand(asksServer<OneGroup & LimitOptions>(set, surroundings, end, setLimits));
}

const of = (name: string, description: string): Command =>
  new Command(name).description(description).argument('<group>', 'Its id, or tenant/id.');

async function showOne(
  asking: Asking,
  { group: groupId, result: isResult }: ShowOptions,
): Promise<undefined> {
  const { client, signal } = asking;
  if (isResult) {
    const result = await client.call('getGroupResult', { params: { groupId } }, { signal });
    asking.answer(result, (printer) => showResult(printer, result));
    return;
  }
  const group = await client.call('getGroup', { params: { groupId } }, { signal });
  const more = asking.isJson ? {} : await moreOf(asking, group);
  asking.answer(group, (printer) => showGroup(printer, group, more));
}

async function moreOf(asking: Asking, group: Group): Promise<MoreOfGroup> {
  const { client, signal } = asking;
  if (!standsStill(group)) return { result: await resultOf(asking, group) };
  const explanation = await explainFirstWaiting(client, group.id, signal);
  return { waitsFor: explanation && waitsFor(explanation) };
}

/** One that came to another end before cannot be cancelled: whoever wanted that is told so by the exit code, too. */
async function cancelOne(asking: Asking, { group: groupId }: OneGroup): Promise<number> {
  const { client, signal } = asking;
  const answer = await client.call('cancelGroup', { params: { groupId } }, { signal });
  const isCancelled = answer.group.status === 'CANCELLED';
  sayStatus(asking, answer, answer.group, isCancelled ? '' : ': it had ended before');
  return isCancelled ? EXIT.DONE : EXIT.FAILED;
}

async function pause(asking: Asking, groupId: string, paused: boolean): Promise<undefined> {
  const { client, signal } = asking;
  const group = await client.call('changeGroup', { params: { groupId }, body: { paused } }, { signal });
  sayStatus(asking, group, group, '');
  if (paused && !asking.isJson)
    asking.printer.remark(`To let it go on: ${nextCommand(asking, 'groups', 'resume', group.id)}`);
}

async function sealOne(asking: Asking, { group: groupId, total }: SealOptions): Promise<undefined> {
  const { client, signal } = asking;
  const answer = await client.call('sealGroup', { params: { groupId }, body: { total } }, { signal });
  sayStatus(asking, answer, answer.group, answer.changed ? '' : ': it was sealed before');
}

async function setLimits(asking: Asking, options: OneGroup & LimitOptions): Promise<undefined> {
  const { client, signal, command } = asking;
  const body = givenLimits(options);
  if (Object.values(body).every((value) => value === undefined))
    return command.error('error: nothing to change: give at least one of the options, such as --rps 50');
  const group = await client.call('changeGroup', { params: { groupId: options.group }, body }, { signal });
  asking.answer(group, (printer) => showGroup(printer, group));
}

const sayStatus = (asking: Asking, answer: unknown, group: Group, why: string): void =>
  asking.answer(answer, (printer) => printer.line(`Group ${group.id} is ${statusOf(group)}${why}.`));
