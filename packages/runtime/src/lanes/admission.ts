/** What decides whether one more task is accepted. */
export interface Occupancy {
  /** The most tasks that may wait; 0 = any number. */
  readonly queueMaxSize: number;
  /** Workers without a task. */
  readonly freeSlots: number;
  /** Tasks whose lane is free and that have not started. */
  readonly ready: number;
  /** All tasks that have not started. */
  readonly queued: number;
  /** Whether the new task's lane is free. */
  readonly laneFree: boolean;
}

/**
 * Whether one more task fits. A task that a free worker takes at once is not waiting and uses no place in the queue:
 * otherwise a queue of one would refuse a burst of two that two idle workers were there for.
 */
export function hasRoom({ queueMaxSize, freeSlots, ready, queued, laneFree }: Occupancy): boolean {
  if (queueMaxSize === 0) return true;
  if (laneFree && ready < freeSlots) return true;
  return queued - Math.min(ready, freeSlots) < queueMaxSize;
}
