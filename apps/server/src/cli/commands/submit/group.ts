import { Command, Option } from 'commander';
import { type Asking, asksServer, nextCommand } from '../../ask/asking.js';
import { countFromOne, type GivenValue, jsonValue } from '../../ask/options.js';
import { amount, pluralize } from '../../show/amounts.js';
import type { End, Surroundings } from '../../surroundings.js';
import { givenLimits, type LimitOptions, limitOptions } from '../groups/limit-options.js';
import { watchGroup } from '../groups/watch-group.js';
import { HandedTypes } from './handed-types.js';
import { type JobLines, madeLines, readLines } from './job-lines.js';
import { sendGroup } from './send-group.js';
import { warnOfUnknown } from './unknown-processors.js';

interface GroupOptions extends LimitOptions {
  readonly group: string;
  readonly jobs?: string;
  readonly processor?: string;
  readonly payload?: GivenValue;
  readonly count?: number;
  readonly tenant?: string;
  readonly tenantId?: string;
  readonly idemKey?: string;
  readonly open?: true;
  readonly watch?: true;
}

const EXAMPLES = `
Examples:
  millrace submit group nightly --jobs jobs.ndjson --watch
  millrace submit group try-1 --processor demo.work --count 1000 --rps 100

A line of jobs.ndjson:
  {"id":"j1","processorType":"demo.work","payload":{"ms":100}}`;

/** `millrace submit group`. */
export function groupCommand(surroundings: Surroundings, end: End): Command {
  const group = new Command('group')
    .description('Submit a group of bulk jobs: from a file, however large, or the same job many times.')
    .argument('<group>', 'The id of the group, or tenant/id.')
    .addOption(
      new Option('--jobs <file>', 'Jobs as lines of JSON, - for standard input.').conflicts([
        'processor',
        'payload',
        'count',
      ]),
    )
    .option('--processor <type>', 'Instead of a file: which processor runs the job.')
    .option('--payload <json>', 'Instead of a file: what the job is given.', jsonValue)
    .option('--count <count>', 'Instead of a file: how many such jobs (1).', countFromOne)
    .option('--open', 'More jobs will come: do not seal it.')
    .addOption(
      new Option(
        '--watch',
        'Watch it until it has ended; the exit code is 0 when it is COMPLETED.',
      ).conflicts('open'),
    )
    .option('--idem-key <key>', 'The same for every repetition of one request (random).')
    .option('--tenant <tenant>', 'Whose it is.')
    .option('--tenant-id <id>', 'The fairness unit that it belongs to.');
  limitOptions(group, false).addHelpText('after', EXAMPLES);
  return asksServer<GroupOptions>(group, surroundings, end, submitGroup);
}

async function submitGroup(asking: Asking, options: GroupOptions): Promise<number | undefined> {
  const { group: id, tenant, tenantId, idemKey } = options;
  await using lines = await givenLines(asking, options);
  const group = { id, tenant, tenantId, ...givenLimits(options) };
  const types = new HandedTypes();
  const answer = await sendGroup(asking, { group, lines, types, isSealed: !options.open, idemKey });
  await warnOfUnknown(asking, types.types());
  if (options.jobs !== undefined && answer.added + answer.known === 0)
    asking.printer.remark(`${lines.name} has no jobs.`);
  if (options.watch) return watchGroup(asking, answer.groupId);
  const { groupId, created, added, known, registered, sealed } = answer;
  asking.answer(answer, (printer) => {
    printer.fields({
      group: groupId,
      made: created ? 'now' : 'before, with the same definition',
      jobs: `${amount(registered)}: ${amount(added)} new, ${amount(known)} known before`,
      sealed: sealed ? 'yes' : 'no, it takes more jobs',
    });
    printer.remark(`To watch it: ${nextCommand(asking, 'groups', 'watch', groupId)}`);
    if (!sealed)
      printer.remark(`When it has all its jobs: ${nextCommand(asking, 'groups', 'seal', groupId)}`);
  });
  return undefined;
}

async function givenLines(asking: Asking, options: GroupOptions): Promise<JobLines> {
  const { jobs, processor: processorType, payload, count = 1, open } = options;
  if (jobs !== undefined) return readLines(asking, jobs);
  if (processorType !== undefined) return madeLines({ processorType, payload: payload?.value }, count);
  if (open && payload === undefined && options.count === undefined) return madeLines({}, 0);
  return asking.command.error(
    `error: give its jobs with --jobs FILE, or ${pluralize(count, 'job')} with --processor TYPE`,
  );
}
