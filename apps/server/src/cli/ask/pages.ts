import type { Command } from 'commander';
import type { Printer } from '../show/printer.js';
import { countFromOne } from './option-values.js';

const PAGE_SIZE = 20;

/** Which part of a list. */
export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/**
 * Lets a command show a part of a list.
 * @param command - gets `--limit` and `--cursor`.
 */
export const pageOptions = (command: Command): Command =>
  command
    .option('--limit <count>', 'How many at most.', countFromOne, PAGE_SIZE)
    .option('--cursor <cursor>', 'Where the part before has ended.');

/** Says how to see more, when there is more. */
export function remarkMore(printer: Printer, cursor: string | null): void {
  if (cursor !== null) printer.remark(`There are more: --cursor '${cursor}'`);
}
