import type { BatchListeners } from './batch-listeners.js';
import type { OutboxEvents } from './events.js';
import type { ResolvedOutboxOptions } from './options.js';
import type { BatchStore, TaskStore, ViewStore } from './ports.js';
import type { DagRegistry } from './registry.js';
import type { WakeUps } from './wake-ups.js';

/** The dependencies that the parts of one outbox share. */
export interface Kit {
  readonly options: ResolvedOutboxOptions;
  readonly tasks: TaskStore;
  readonly batches: BatchStore;
  readonly views: ViewStore;
  readonly registry: DagRegistry;
  readonly wakeUps: WakeUps;
  readonly events: OutboxEvents;
  readonly listeners: BatchListeners;
  /** Called after the end of tasks is committed, with the number of other tasks that can run now. */
  afterEnd(ready: number): void;
  /** Called when other tasks may have become ready. */
  afterReady(ready: number): void;
}
