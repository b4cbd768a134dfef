import type { ReserveRequest, Settlement } from '../../src/lease.js';
import type { SimProcess } from './scheduler.js';
import type { Violations } from './truth.js';

/** What became of a call, as its process sees it. */
export type CallStage = 'sent' | 'answered' | 'failed';

/**
 * What a pool owes the store after a call that failed: jobs may be reserved all the same, and only the same number
 * again brings them; results may not be stored, and only the pool has them.
 */
export class PoolCheck {
  readonly #violations: Violations;
  readonly #reserves = new Map<SimProcess, number>();
  readonly #results = new Map<SimProcess, Set<number>>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  /** Sees every call of every process. */
  note(process: SimProcess, member: string, args: readonly unknown[], stage: CallStage): void {
    if (member === 'leases.reserve') this.#noteReserve(process, args[0] as ReserveRequest, stage);
    if (member === 'leases.settle') this.#noteSettle(process, args[0] as readonly Settlement[], stage);
  }

  /** Whether a process has results that it must send again. */
  owes(process: SimProcess): boolean {
    return (this.#results.get(process)?.size ?? 0) > 0;
  }

  /** Checks a process that lives and was never told to stop. */
  atTheEnd(process: SimProcess): void {
    const tokens = [...(this.#results.get(process) ?? [])];
    this.#violations.check(
      tokens.length === 0,
      'I3',
      () => `${process.name} never sent the results of ${tokens} again`,
    );
  }

  #noteReserve(process: SimProcess, { seq }: ReserveRequest, stage: CallStage): void {
    const unanswered = this.#reserves.get(process);
    if (stage === 'answered') this.#reserves.delete(process);
    else if (stage === 'failed') this.#reserves.set(process, seq);
    else
      this.#violations.check(
        unanswered === undefined || unanswered === seq,
        'SEQ',
        () => `${process.name} asks with seq ${seq}, and seq ${unanswered} was never answered`,
      );
  }

  #noteSettle(process: SimProcess, settlements: readonly Settlement[], stage: CallStage): void {
    const results = this.#results.get(process) ?? new Set();
    this.#results.set(process, results);
    for (const { token } of settlements)
      if (stage === 'failed') results.add(token);
      else results.delete(token);
  }
}
