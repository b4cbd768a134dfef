import type { GroupView } from '@millrace/bulk-action';
import { toJson } from '@millrace/postgres';
import { Inject, Injectable } from '@nestjs/common';
import type { TimedPoint } from '../bulk/rules/progress-points.js';
import { ServerTables } from './server-tables.js';

/** Points of a group; when it has them all, every second one goes. */
export const POINTS_MAX = 240;
/** Of one slot, in ms: no group has two points in one. */
export const PROGRESS_SLOT_MS = 10_000;
/** How long the points of a group are kept after the last one. */
const KEPT_MS = 86_400_000;
/** Groups whose points are kept: about 100 MB. */
const GROUPS_MAX = 20_000;

/** The progress of groups as it is stored. */
@Injectable()
export class ProgressStore {
  readonly #tables: ServerTables;

  constructor(@Inject(ServerTables) tables: ServerTables) {
    this.#tables = tables;
  }

  /**
   * Adds a point to each group that has changed since its last one, unless that is too recent.
   * @param at - now, in ms.
   * @param groups - each once.
   * @returns the ids of those that were written.
   */
  async write(at: number, groups: readonly GroupView[]): Promise<readonly string[]> {
    const ordered = [...groups].sort((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await this.#tables.rows<{ readonly group_id: string }>('write-progress', [
      Math.floor(at / PROGRESS_SLOT_MS),
      Math.floor(at),
      POINTS_MAX,
      ordered.map(({ id }) => id),
      ordered.map(({ createdAt }) => createdAt),
      ordered.map((group) => toJson(countsOf(group))),
    ]);
    return rows.map(({ group_id }) => group_id);
  }

  /**
   * What was written of a group.
   * @param group - as it is now: another one of the same id has other points.
   * @returns oldest first.
   */
  async read({ id, createdAt }: Pick<GroupView, 'id' | 'createdAt'>): Promise<readonly TimedPoint[]> {
    const [row] = await this.#tables.rows<{ readonly points: readonly Written[] }>('read-progress', [
      ...[id, createdAt],
    ]);
    return (row?.points ?? []).map(([at, done, success, failed, inFlight, registered]) => ({
      ...{ at, done, success, failed, inFlight, registered },
    }));
  }

  /**
   * Removes some of those that nobody needs any more.
   * @param limit - at most so many.
   * @returns how many.
   */
  prune(limit: number): Promise<number> {
    return this.#tables.change('prune-progress', [KEPT_MS, GROUPS_MAX, limit]);
  }
}

type Counted = readonly [done: number, success: number, failed: number, inFlight: number, registered: number];
type Written = readonly [at: number, ...Counted];

/** What a point says of a group. */
export function countsOf({ counts }: Pick<GroupView, 'counts'>): Counted {
  const { success, failed, cancelled, inFlight, registered } = counts;
  return [success + failed + cancelled, success, failed, inFlight, registered];
}
