import { AsyncLocalStorage } from 'node:async_hooks';
import { type LimitFunction, pLimit, type TaskOptions } from '../limit.js';

/** One slot that a running call holds. */
interface Slot {
  readonly limit: LimitFunction;
  readonly outer: Slot | undefined;
  /** Queue of the calls made from inside this one. */
  inner?: LimitFunction;
  open: boolean;
}

const current = new AsyncLocalStorage<Slot>();

/**
 * Runs `work` in a slot of `limit`. A call from inside a call that holds a slot of the same limit waits for no second
 * one, because under load every slot would be held by a call that waits for a slot. It uses its caller's instead, and
 * several such calls take turns in it, so that the limit still holds.
 */
export function inSlot<T>(
  limit: LimitFunction,
  work: () => Promise<T> | T,
  options: TaskOptions,
): Promise<T> {
  const outer = nearest(current.getStore(), () => true);
  const held = nearest(outer, (slot) => slot.limit === limit);
  if (held) held.inner ??= pLimit(1);
  return (held?.inner ?? limit).run(() => {
    const slot: Slot = { limit, outer, open: true };
    return current.run(slot, async () => {
      try {
        return await work();
      } finally {
        slot.open = false;
      }
    });
  }, options);
}

/** Slots of calls that have ended are passed over: work they left behind holds nothing, and keeps none of them alive. */
function nearest(slot: Slot | undefined, matches: (slot: Slot) => boolean): Slot | undefined {
  let found = slot;
  while (found && !(found.open && matches(found))) found = found.outer;
  return found;
}
