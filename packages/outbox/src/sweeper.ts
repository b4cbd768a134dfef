import { Repeating } from '@millrace/foundation';
import type { OutboxEvents } from './events.js';
import { type ResolvedOutboxOptions, workerPrefix } from './options.js';
import type { TaskStore } from './postgres/task-store.js';
import type { DagRegistry } from './registry.js';
import type { TaskOutcomes } from './task-outcomes.js';

const EXPIRED_MAX = 100;
const NOTES_MAX = 200;
const EVERY_MAX_MS = 5_000;

/** No delay or lease of any instance is longer: what is further ahead was put there by a clock that has jumped. */
const AHEAD_MAX_MS = 86_400_000;

/** Gives tasks of workers that fell silent to others. Any number of them may run. */
export class Sweeper {
  readonly #tasks: TaskStore;
  readonly #outcomes: TaskOutcomes;
  readonly #registry: DagRegistry;
  readonly #events: OutboxEvents;
  readonly #options: ResolvedOutboxOptions;
  readonly #repeating: Repeating;

  constructor(
    parts: {
      readonly tasks: TaskStore;
      readonly outcomes: TaskOutcomes;
      readonly registry: DagRegistry;
      readonly events: OutboxEvents;
    },
    options: ResolvedOutboxOptions,
  ) {
    this.#tasks = parts.tasks;
    this.#outcomes = parts.outcomes;
    this.#registry = parts.registry;
    this.#events = parts.events;
    this.#options = options;
    const { clock, rng, logger, leaseMs } = options;
    const everyMs = Math.min(leaseMs / 3, EVERY_MAX_MS);
    this.#repeating = new Repeating({ clock, rng, logger, what: 'Looking for lost tasks', everyMs }, () =>
      this.#sweep(),
    );
  }

  /** Begins to look. */
  start(): void {
    this.#repeating.start();
  }

  /** Ends it. */
  stop(): Promise<void> {
    return this.#repeating.stop();
  }

  async #sweep(): Promise<void> {
    const { database, logger } = this.#options;
    const embedded = database.kind === 'pglite';
    // Without heartbeats the own leases say nothing; and nobody else can be alive.
    const who = { passOver: embedded ? workerPrefix() : undefined, othersAreDead: embedded };
    for (;;) {
      const expired = await this.#tasks.expired(who, EXPIRED_MAX);
      const count = expired.length === 0 ? 0 : await this.#outcomes.expired(expired, { embedded });
      if (count > 0) {
        this.#events.emit('lease-expired', { count });
        logger.warn({ count }, 'Tasks were lost by their workers and are given to others');
      }
      if (expired.length < EXPIRED_MAX || count === 0) break;
    }
    while (await this.#tasks.tidyLeases(NOTES_MAX));
    const clamped = await this.#tasks.clampTimes(this.#registry.names, AHEAD_MAX_MS);
    if (clamped > 0)
      logger.warn(
        { clamped },
        'The clock of the database has jumped back: times far ahead were brought back',
      );
  }
}
