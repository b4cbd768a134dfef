import {
  type Clock,
  integerOption,
  type OptionSpec,
  objectOption,
  resolveOptions,
  systemClock,
} from '@millrace/foundation';
import type { OpId } from '../op-id.js';
import type { Notices, OperationStore, Repairs, Runs, Views } from '../ports.js';
import { OperationTable } from './operation-table.js';
import { MemoryRepairs } from './repairs.js';
import { MemoryRuns } from './runs.js';
import { MemoryViews } from './views.js';

/** Options of a memory store. */
export interface MemoryOperationStoreOptions {
  /** Clock of all times (the machine's). */
  readonly clock?: Clock | undefined;
  /** Maximum number of operations (100000). The one that ended first makes room for a new one. */
  readonly operationsMax?: number | undefined;
}

const MEMORY_OPERATION_STORE_DEFAULTS = Object.freeze({ clock: systemClock, operationsMax: 100_000 });

const SPEC: OptionSpec<{ readonly clock: Clock; readonly operationsMax: number }> = {
  owner: 'MemoryOperationStore',
  defaults: MEMORY_OPERATION_STORE_DEFAULTS,
  rules: {
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    operationsMax: integerOption({ min: 1 }),
  },
};

/**
 * Stores operations in the memory of this process; they end with it. Several runners of the process may share a store.
 * Each call is atomic: no other one comes between its read and its write.
 */
export class MemoryOperationStore implements OperationStore {
  readonly runs: Runs;
  readonly repairs: Repairs;
  readonly views: Views;
  readonly notices: Notices = new MemoryNotices();

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(options: MemoryOperationStoreOptions = {}) {
    const { clock, operationsMax } = resolveOptions(SPEC, options);
    const table = new OperationTable();
    this.runs = new MemoryRuns(table, clock, operationsMax);
    this.repairs = new MemoryRepairs(table, clock);
    this.views = new MemoryViews(table, clock);
  }

  /** Does nothing. */
  async start(): Promise<void> {}

  /** Does nothing: another runner may still use the store. */
  async stop(): Promise<void> {}
}

/** Notices between the runners of one process. */
class MemoryNotices implements Notices {
  readonly #listeners = new Set<(opId: OpId) => void>();

  tell(opId: OpId): void {
    // Later: a listener must not run in the middle of the caller's step.
    queueMicrotask(() => {
      for (const listener of [...this.#listeners]) listener(opId);
    });
  }

  hear(listener: (opId: OpId) => void): () => void {
    // A function of its own for each call, because one listener may be given twice.
    const own = (opId: OpId) => listener(opId);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}
