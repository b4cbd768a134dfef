import type { Asking } from './asking.js';
import { nextCommand } from './next-command.js';

/**
 * Watches work of the server. Whoever interrupts that ends the watching alone: they are told so, and how to come back.
 * @param again - the words of the command that watches it, without `millrace`.
 * @throws what `watch` throws.
 */
export async function watching<T>(
  asking: Asking,
  again: readonly string[],
  watch: () => Promise<T>,
): Promise<T> {
  try {
    return await watch();
  } catch (error) {
    if (asking.signal.aborted)
      asking.printer.remark(`The work goes on. To see what becomes of it: ${nextCommand(asking, ...again)}`);
    throw error;
  }
}
