import { STAT_RINGS, type StatStep } from '@millrace/contract';
import { toJson } from '@millrace/postgres';
import { Inject, Injectable } from '@nestjs/common';
import { ServerTables } from './server-tables.js';
import type { StatRow } from './stat-ring.js';
import type { Counts } from './work-counts.js';

/** The longest ring: nothing older is ever shown. */
const KEPT_MS =
  Math.max(...Object.entries(STAT_RINGS).map(([step, places]) => Number(step) * places)) * 1_000;

/** Slots that are read at once: with a hundred instances some thousands of rows, which hold up this process for an instant only. */
const SLOTS_AT_A_TIME = 60;

/** A slot over all instances. */
export interface StatSlot {
  readonly slot: number;
  /** How many instances have written it. */
  readonly instances: number;
  /** Added up. */
  readonly counted: Counts;
  /** The greatest of each; undefined: nobody looked. */
  readonly seen: Counts | undefined;
}

/** The rings as they are stored. */
@Injectable()
export class StatStore {
  readonly #tables: ServerTables;

  constructor(@Inject(ServerTables) tables: ServerTables) {
    this.#tables = tables;
  }

  /** Writes slots of one instance. */
  async write(instanceId: string, rows: readonly StatRow[]): Promise<void> {
    await this.#tables.change('write-stats', [
      instanceId,
      rows.map(({ step }) => step),
      rows.map(({ place }) => place),
      rows.map(({ slot }) => slot),
      rows.map(({ counted }) => toJson(counted)),
      rows.map(({ seen }) => toJson(seen ?? null)),
    ]);
  }

  /**
   * Slots of a ring, over all instances.
   * @returns those that anybody has written, in order.
   */
  async read(step: StatStep, first: number, last: number): Promise<readonly StatSlot[]> {
    const slots = new Map<string, GrowingSlot>();
    for (let from = first; from <= last; from += SLOTS_AT_A_TIME) {
      const to = Math.min(last, from + SLOTS_AT_A_TIME - 1);
      const rows = await this.#tables.rows<SlotRow>('read-stats', [step, from, to]);
      for (const row of rows) addRow(slots, row);
    }
    return [...slots.values()].map(({ seen, ...slot }) => ({
      ...slot,
      seen: Object.keys(seen).length === 0 ? undefined : seen,
    }));
  }

  /**
   * Removes some rows of instances that are gone.
   * @param limit - at most so many.
   * @returns how many.
   */
  prune(limit: number): Promise<number> {
    return this.#tables.change('prune-stats', [KEPT_MS, limit]);
  }
}

interface SlotRow {
  readonly slot: string;
  readonly counted: Counts;
  readonly seen: Counts | null;
}

interface GrowingSlot {
  readonly slot: number;
  instances: number;
  readonly counted: Record<string, number>;
  readonly seen: Record<string, number>;
}

function addRow(slots: Map<string, GrowingSlot>, { slot, counted, seen }: SlotRow): void {
  const sum = slots.get(slot) ?? { slot: Number(slot), instances: 0, counted: {}, seen: {} };
  slots.set(slot, sum);
  sum.instances++;
  for (const [name, count] of Object.entries(counted)) sum.counted[name] = (sum.counted[name] ?? 0) + count;
  for (const [name, value] of Object.entries(seen ?? {}))
    sum.seen[name] = Math.max(sum.seen[name] ?? value, value);
}
