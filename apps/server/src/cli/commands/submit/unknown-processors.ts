import { nearestKey } from '@millrace/foundation';
import type { Asking } from '../../ask/asking.js';

/** Of one instance so many processors are named at most; then nobody can say which it has not. */
const NAMED_MAX = 500;
const KNOWN_TOLD = 5;

/**
 * Says which processors nobody has: their jobs are kept, and would wait in silence.
 * @throws the signal's reason when the user interrupts.
 */
export async function warnOfUnknown(asking: Asking, types: readonly string[]): Promise<void> {
  const known = types.length === 0 ? undefined : await knownProcessors(asking);
  if (!known) return;
  for (const type of types.filter((one) => !known.includes(one)))
    asking.printer.remark(
      `No live instance runs the processor ${type}: its jobs are kept, and wait until one does. ${hintOf(type, known)}`,
    );
}

/** undefined: it cannot be known. */
async function knownProcessors({ client, signal }: Asking): Promise<readonly string[] | undefined> {
  try {
    const { items } = await client.call('listInstances', {}, { signal });
    const lists = items.filter(({ alive }) => alive).map(({ processors }) => processors);
    return lists.some(({ length }) => length >= NAMED_MAX) ? undefined : [...new Set(lists.flat())];
  } catch {
    signal.throwIfAborted();
    // The jobs are stored all the same; a key of one tenant may not even ask.
    return undefined;
  }
}

function hintOf(type: string, known: readonly string[]): string {
  const nearest = nearestKey(type, known);
  if (nearest !== undefined) return `Did you mean ${nearest}?`;
  if (known.length === 0)
    return 'None runs any: millrace start --app FILE starts a server with those of FILE.';
  return `There are: ${known.slice(0, KNOWN_TOLD).join(', ')}${known.length > KNOWN_TOLD ? ' and others' : ''}.`;
}
