import type { LookAnswer, ReconcileAnswer } from '../../src/ports.js';
import type { WitnessParts } from './witness-parts.js';

/** Groups that time has ended: only those that were quiet for as long as they may be. And nothing is ever to be repaired. */
export class WatchCheck {
  readonly #parts: WitnessParts;

  constructor(parts: WitnessParts) {
    this.#parts = parts;
  }

  /** Checks what a look has ended, and keeps the truth up to date. */
  looked({ timedOut }: LookAnswer): void {
    const { truth, violations, scheduler, tally } = this.#parts;
    for (const { key, code } of timedOut) {
      const group = truth.groups.get(key);
      if (!group) continue;
      tally.count(`ended as ${code}`);
      const quietMs = scheduler.time - group.progressAt;
      const { timeoutMs } = group.definition;
      violations.check(
        code === 'DEADLINE_EXCEEDED' ? group.dated : quietMs >= timeoutMs && !group.paused,
        'I10',
        () => `${key} was ended as ${code} after ${quietMs} of ${timeoutMs} ms without progress`,
      );
      group.cancelled = true;
      group.everCancelled = true;
      group.timedOut = true;
    }
  }

  /** I8: counters and entries agree at every moment. */
  reconciled({ repaired }: ReconcileAnswer): void {
    const { violations, tally } = this.#parts;
    tally.count('reconciled');
    violations.check(repaired === 0, 'I8', () => `${repaired} groups had to be repaired`);
  }
}
