import { Lifecycle, type Loop, type Service, type ServiceState, withDeadline } from '@millrace/foundation';
import { appliedWatchOf } from './applied-watch.js';
import { type BatchEndListener, BatchListeners } from './batch-listeners.js';
import { Batches } from './batches.js';
import { Completions } from './completions.js';
import { Dags } from './dags.js';
import type { DagDefinition } from './define-dag.js';
import { OutboxEvents } from './events.js';
import { Folder } from './folder.js';
import type { Kit } from './kit.js';
import { requireOutboxMigrated } from './migrate.js';
import type { WorkerView } from './model.js';
import { type OutboxOptions, type ResolvedOutboxOptions, resolveOutboxOptions } from './options.js';
import { Poller } from './poller.js';
import { PostgresBatchStore } from './postgres/batch-store.js';
import { PostgresDagStore } from './postgres/dag-store.js';
import { PostgresFoldStore } from './postgres/fold-store.js';
import { PostgresScheduleStore } from './postgres/schedule-store.js';
import { Statements } from './postgres/statements.js';
import { PostgresTaskStore } from './postgres/task-store.js';
import { PostgresUpkeepStore } from './postgres/upkeep-store.js';
import { PostgresViewStore } from './postgres/view-store.js';
import { Presence } from './presence.js';
import { prunerOf } from './pruner.js';
import { Pusher } from './pusher.js';
import { DagRegistry } from './registry.js';
import { Scheduler } from './scheduler.js';
import { Schedules } from './schedules.js';
import { sweeperOf } from './sweeper.js';
import { TaskOutcomes } from './task-outcomes.js';
import { TaskRunner } from './task-runner.js';
import { VacuumWatch } from './vacuum-watch.js';
import { channelOf, WakeUps } from './wake-ups.js';

/** Options of an Outbox. */
export interface OutboxSetup extends OutboxOptions {
  /** DAGs of this application. More may be added to `registry` before the start. */
  readonly dags?: readonly DagDefinition[] | undefined;
}

/** Runs batches of tasks that depend on each other, on one database. Any number of instances work on the same tables. */
export class Outbox implements Service {
  readonly options: ResolvedOutboxOptions;
  readonly registry: DagRegistry;
  readonly dags: Dags;
  readonly pusher: Pusher;
  readonly batches: Batches;
  readonly schedules: Schedules;
  /** Finds transactions that keep PostgreSQL from removing dead rows. */
  readonly vacuum: VacuumWatch;
  readonly events: OutboxEvents;
  readonly poller: Poller;
  readonly #listeners = new BatchListeners();
  readonly #wakeUps: WakeUps;
  readonly #appliedWatch: Loop;
  readonly #folder: Folder;
  readonly #sweeper: Loop;
  readonly #scheduler: Scheduler;
  readonly #pruner: Loop;
  readonly #presence: Presence;
  readonly #completions: Completions;
  readonly #lifecycle: Lifecycle;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `DAG_INVALID`, `BATCH_TOO_LARGE`. */
  constructor({ dags = [], ...given }: OutboxSetup) {
    const options = resolveOutboxOptions(given);
    const { database, schema, logger } = options;
    const statements = new Statements(schema);
    const channel = channelOf(schema);
    this.options = options;
    this.events = new OutboxEvents(logger);
    const dagStore = new PostgresDagStore(database, statements);
    this.registry = new DagRegistry(dagStore, options);
    for (const dag of dags) this.registry.add(dag);
    this.#wakeUps = new WakeUps(database, channel, logger);
    const afterReady = (ready: number) => {
      if (ready > 0) this.poller.wake();
    };
    const kit: Kit = {
      options,
      tasks: new PostgresTaskStore(database, statements),
      batches: new PostgresBatchStore(database, statements, channel),
      views: new PostgresViewStore(database, statements),
      registry: this.registry,
      wakeUps: this.#wakeUps,
      events: this.events,
      listeners: this.#listeners,
      afterReady,
      afterEnd: (ready) => {
        afterReady(ready);
        this.#folder.announce();
      },
    };
    this.dags = new Dags(kit, dagStore);
    this.#appliedWatch = appliedWatchOf(kit, dagStore, () => this.poller.wake());
    this.pusher = new Pusher(kit);
    this.batches = new Batches(kit);
    this.#folder = new Folder(kit, new PostgresFoldStore(database, statements), () => this.poller.hasMore);
    const outcomes = new TaskOutcomes(kit);
    this.#completions = new Completions(kit);
    this.#sweeper = sweeperOf(kit, outcomes);
    this.poller = new Poller(kit, new TaskRunner(kit, outcomes, this.#completions));
    const schedules = new PostgresScheduleStore(database, statements);
    this.#scheduler = new Scheduler(kit, schedules);
    this.schedules = new Schedules(kit, schedules, () => this.#scheduler.trigger());
    const upkeep = new PostgresUpkeepStore(database, statements);
    this.#pruner = prunerOf(upkeep, options);
    this.vacuum = new VacuumWatch(upkeep, options);
    this.#presence = new Presence(kit, upkeep);
    this.#lifecycle = new Lifecycle('The outbox', { start: () => this.#start(), stop: () => this.#stop() });
  }

  get state(): ServiceState {
    return this.#lifecycle.state;
  }

  /**
   * Stores the DAGs and starts to run tasks (unless `poll` is false).
   * @throws MillraceError `SCHEMA_OUTDATED` and others of a schema that is not migrated, `DAG_INVALID`, `BACKEND_UNAVAILABLE`,
   * `SERVICE_STOPPED`.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Lets tasks finish within the grace period, then releases the rest. It does not stop the database. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Calls a listener for every batch that ends (DONE, FAILED, ABORTED), in the transaction that ends it. What it writes through
   * `tx` happens once, together with the end. If it throws, or takes longer than a transaction may, the batch does not end and
   * the listener is called again later. Every instance requires the same listeners.
   * @returns a function that removes it.
   */
  onBatchEnd(listener: BatchEndListener): () => void {
    return this.#listeners.add(listener);
  }

  /** Lists the workers of all instances. A dead one is listed for a day. */
  workers(): Promise<readonly WorkerView[]> {
    return this.#presence.list();
  }

  async #start(): Promise<void> {
    const { database, schema, poll } = this.options;
    await requireOutboxMigrated(database, { schema });
    await this.registry.save();
    this.#presence.start();
    this.#appliedWatch.start();
    if (!poll) return;
    this.#wakeUps.start();
    this.#folder.start();
    this.#sweeper.start();
    this.#scheduler.start();
    this.#pruner.start();
    this.vacuum.start();
    await this.poller.start();
  }

  async #stop(): Promise<void> {
    const { clock, gracePeriodMs, poll } = this.options;
    // These stop while the tasks end.
    const quiet = Promise.allSettled([
      this.#scheduler.stop(),
      this.#pruner.stop(),
      this.vacuum.stop(),
      this.#appliedWatch.stop(),
    ]);
    await this.poller.stop();
    this.#completions.stop();
    // Do not wait longer for the database: another instance, or the next start, counts what is left.
    const counted = poll ? [this.#sweeper.stop(), this.#folder.stop(), this.#wakeUps.stop()] : [];
    const rest = Promise.allSettled([quiet, this.#presence.stop(), ...counted]);
    await withDeadline(clock, Math.max(gracePeriodMs * REST_SHARE, REST_MIN_MS), rest);
  }
}

/** Share of the grace period that is added to count what is left. */
const REST_SHARE = 0.1;
const REST_MIN_MS = 500;
