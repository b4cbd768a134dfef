import {
  type Clock,
  integerOption,
  type OptionSpec,
  objectOption,
  resolveOptions,
  systemClock,
} from '@millrace/foundation';
import type { Notices, OperationStore, Repairs, Runs, Views } from '../ports.js';
import { MemoryNotices } from './notices.js';
import { OperationTable } from './operation-table.js';
import { MemoryRepairs } from './repairs.js';
import { MemoryRuns } from './runs.js';
import { MemoryViews } from './views.js';

/** What a memory store may be told. */
export interface MemoryOperationStoreOptions {
  /** The machine's unless given. */
  readonly clock?: Clock | undefined;
  /** Most operations kept (100000): the one that ended first makes room. */
  readonly operationsMax?: number | undefined;
}

/** What a memory store does unless told otherwise. */
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
 * Keeps operations in this process: they are gone with it. Several runners of one process may share a store. Every call is one step: nothing
 * comes between its look and its change.
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

  /** Nothing has to be opened. */
  async start(): Promise<void> {}

  /** Nothing has to be closed: another runner may still use the store. */
  async stop(): Promise<void> {}
}
