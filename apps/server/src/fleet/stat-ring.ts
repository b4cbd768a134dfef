import { STAT_RINGS, type StatStep } from '@millrace/contract';
import type { Counts } from './work-counts.js';

/** One slot of a ring, as it is stored. */
export interface StatRow {
  readonly step: StatStep;
  readonly slot: number;
  /** In the table: the slot that had it before is written over. */
  readonly place: number;
  readonly counted: Counts;
  readonly seen: Counts | undefined;
}

/** Slots that wait for a database that is away; then the oldest is added to the next. */
const UNWRITTEN_MAX = 30;

/** What was counted from one look to the next; what is 0 is left out. */
export const newCounts = (now: Counts, before: Counts): Counts =>
  Object.fromEntries(
    Object.entries(now)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );

/** Adds counts up. */
function addCounts(one: Counts, other: Counts): Counts {
  const sum: Record<string, number> = { ...one };
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** The slots of one ring that one process still has to write. Rows are written whole, so that each can be written twice. */
export class StatRing {
  readonly #step: StatStep;
  /** By slot, in the order they came. */
  readonly #rows = new Map<number, StatRow>();
  #written: StatRow | undefined;

  /** @param step - seconds of a slot. */
  constructor(step: StatStep) {
    this.#step = step;
  }

  /**
   * Adds to a slot.
   * @param seen - what the stores held; undefined: nobody looked.
   */
  add(atMs: number, counted: Counts, seen: Counts | undefined): void {
    const step = this.#step;
    const slot = Math.floor(atMs / (step * 1_000));
    // What was written of this slot already is written again, with more in it.
    const known = this.#rows.get(slot) ?? (this.#written?.slot === slot ? this.#written : undefined);
    this.#rows.set(slot, {
      step,
      slot,
      place: slot % STAT_RINGS[step],
      counted: addCounts(known?.counted ?? {}, counted),
      seen: seen ?? known?.seen,
    });
    if (this.#rows.size > UNWRITTEN_MAX) this.#mergeOldest();
  }

  /** What has to be written. */
  get unwritten(): readonly StatRow[] {
    return [...this.#rows.values()];
  }

  /**
   * Notes what was written.
   * @param rows - some of `unwritten`.
   */
  written(rows: readonly StatRow[]): void {
    for (const row of rows) {
      if (this.#rows.get(row.slot) !== row) continue;
      this.#rows.delete(row.slot);
      this.#written = row;
    }
  }

  #mergeOldest(): void {
    const [oldest, next] = this.#rows.values();
    if (!oldest || !next) return;
    this.#rows.delete(oldest.slot);
    // Set in place: the order stays.
    this.#rows.set(next.slot, { ...next, counted: addCounts(oldest.counted, next.counted) });
  }
}
