import { createInterface } from 'node:readline/promises';
import { safeText } from '../show/safe-text.js';
import type { Asking } from './asking.js';

/**
 * Asks whoever sits at the terminal before something is done that cannot be undone.
 * @param isConfirmed - `--yes` was given: nobody is asked.
 * @returns whether to go on. Without a terminal and `--yes` the command ends with a usage error.
 */
export async function confirm(asking: Asking, question: string, isConfirmed: boolean): Promise<boolean> {
  if (isConfirmed) return true;
  const { stdin, stderr } = asking.surroundings;
  if (!stdin.isTTY || !stderr.isTTY)
    return asking.command.error(`error: ${safeText(question)} Say so with --yes: nobody can be asked here.`);
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  try {
    const answer = await lines.question(`${safeText(question)} [y/N] `, { signal: asking.signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
