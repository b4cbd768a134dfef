import { nearestKey } from '@millrace/foundation';
import { Command } from 'commander';
import { safeText } from '../show/text.js';
import type { End, Surroundings } from '../surroundings.js';
import { batchCommand } from './submit/batch.js';
import { groupCommand } from './submit/group.js';
import { opCommand } from './submit/op.js';

const EXAMPLES = `
Examples:
  millrace submit ORDER.PLACED --biz-key order-17 --payload '{"amount":5}' --wait
  millrace submit group nightly --jobs jobs.ndjson --watch
  millrace submit batch settle-day --biz-key 2026-01-31 --watch`;

/** `millrace submit`: hands in work. */
export function submitCommand(surroundings: Surroundings, end: End): Command {
  return new Command('submit')
    .description('Hand in work: a command (op, which may be left out), a group of jobs, or a batch.')
    .addCommand(opCommand(surroundings, end), { isDefault: true })
    .addCommand(groupCommand(surroundings, end))
    .addCommand(batchCommand(surroundings, end))
    .hook('preSubcommand', (submit, chosen) => {
      const [given = ''] = submit.args;
      if (chosen.name() !== 'op' || !/^[a-z]+$/i.test(given) || given === 'op') return;
      // Whatever is no subcommand is a command to `op`: it would complain of the options first.
      const meant = nearestKey(given, KINDS);
      if (meant !== undefined)
        submit.error(safeText(`error: unknown command '${given}', did you mean ${meant}?`));
    })
    .addHelpText('after', EXAMPLES);
}

const KINDS = ['group', 'batch', 'op'];
