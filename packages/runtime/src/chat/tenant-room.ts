import { NO_TENANT } from '@millrace/foundation';
import type { TaskManagerStats } from '../lanes/task-manager.js';
import type { TaskView } from '../model.js';

/** The lanes, as far as room goes. */
export interface LaneRoom {
  readonly stats: Pick<TaskManagerStats, 'queued'>;
  /** Where a task is; throws for one that is not known any more. */
  status(id: string): Pick<TaskView, 'status'>;
}

/**
 * Keeps one tenant from taking all the room that there is for turns which wait: once half of it is taken, a tenant has at most as many waiting
 * as there is room left. Turns of no tenant are not held back: where there are no tenants, all of it is theirs.
 */
export class TenantRoom {
  readonly #max: number;
  readonly #lanes: LaneRoom;
  /** Turns that were accepted, with their tenants; those that wait no more are forgotten when somebody has to count. */
  readonly #accepted = new Map<string, string>();

  /** @param max - turns that may wait; 0: any number. */
  constructor(max: number, lanes: LaneRoom) {
    this.#max = max;
    this.#lanes = lanes;
  }

  /** Whether one more turn of a tenant leaves room for others. */
  allows(tenant: string): boolean {
    const left = this.#max - this.#lanes.stats.queued;
    if (this.#max === 0 || tenant === NO_TENANT || left >= this.#max / 2) return true;
    this.#forgetStarted();
    return [...this.#accepted.values()].filter((owner) => owner === tenant).length <= left;
  }

  /** Notes a turn that was accepted. */
  note(taskId: string, tenant: string): void {
    if (this.#max === 0 || tenant === NO_TENANT) return;
    this.#accepted.set(taskId, tenant);
    if (this.#accepted.size > 2 * this.#max) this.#forgetStarted();
  }

  #forgetStarted(): void {
    for (const id of this.#accepted.keys()) if (!this.#isWaiting(id)) this.#accepted.delete(id);
  }

  #isWaiting(id: string): boolean {
    try {
      return this.#lanes.status(id).status === 'QUEUED';
    } catch {
      return false; // Ended so long ago that it is forgotten.
    }
  }
}
