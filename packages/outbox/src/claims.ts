import { Repeating } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { ResolvedOutboxOptions } from './options.js';
import type { ClaimedTask, TaskStore } from './postgres/task-store.js';
import { STOPPING, StopSwitch } from './stop-switch.js';

/** A claim of this worker. */
interface Claim {
  readonly task: ClaimedTask;
  readonly stop: StopSwitch;
}

/** The claims this worker holds, and their leases. */
export class Claims {
  readonly #tasks: TaskStore;
  readonly #options: ResolvedOutboxOptions;
  readonly #claims = new Map<string, Claim>();
  readonly #heartbeat: Repeating;
  #isClosed = false;

  /** @param options - how long they are. */
  constructor(tasks: TaskStore, options: ResolvedOutboxOptions) {
    this.#tasks = tasks;
    this.#options = options;
    const { clock, rng, logger, heartbeatMs } = options;
    this.#heartbeat = new Repeating(
      { clock, rng, logger, what: 'Extending leases', everyMs: heartbeatMs },
      () => this.#extend(),
    );
  }

  /** How many there are. */
  get size(): number {
    return this.#claims.size;
  }

  /** Begins to extend leases. An embedded database has one session, in which a heartbeat would wait behind the handler it is for. */
  start(): void {
    if (this.#options.database.kind !== 'pglite') this.#heartbeat.start();
  }

  /** The worker takes no more: a claim that was on its way is held only to be given back. */
  close(): void {
    this.#isClosed = true;
  }

  /** Ends the extending; one that is under way is of no consequence. */
  stop(): void {
    void this.#heartbeat.stop();
  }

  /**
   * Keeps a claim until it is released.
   * @returns what is thrown when it is lost, or when the worker stops; after `close` it is thrown already.
   */
  hold(task: ClaimedTask): StopSwitch {
    const stop = new StopSwitch();
    if (this.#isClosed) stop.stop(STOPPING);
    this.#claims.set(task.claimId, { task, stop });
    return stop;
  }

  /** The task has ended. */
  release({ claimId }: ClaimedTask): void {
    this.#claims.delete(claimId);
  }

  /** A batch was aborted: its handlers are told. */
  abortBatch(batchId: string): void {
    for (const { task, stop } of this.#claims.values())
      if (task.batchId === batchId) stop.stop(ERRORS.create('CLAIM_LOST', {}));
  }

  /** The worker stops: every handler is told. */
  abortAll(): void {
    for (const { stop } of this.#claims.values()) stop.stop(STOPPING);
  }

  async #extend(): Promise<void> {
    const held = [...this.#claims.values()].map(({ task }) => task);
    if (held.length === 0) return;
    const gone = await this.#tasks.extend(held, this.#options.leaseMs);
    for (const { claimId, id } of held) {
      if (!gone.has(id)) continue;
      // A task that has ended meanwhile is no longer here.
      this.#claims.get(claimId)?.stop.stop(ERRORS.create('CLAIM_LOST', {}));
    }
  }
}
