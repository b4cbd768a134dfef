import { Command } from 'commander';
import type { End, Surroundings } from '../surroundings.js';
import { listCommand } from './dlq/list.js';
import { moveCommand } from './dlq/move.js';

/** `millrace dlq`: looks at dead letters, sends them back, throws them away. */
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
