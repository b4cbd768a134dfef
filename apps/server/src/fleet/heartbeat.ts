import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import { type Loop, loop, systemRng, toWorkError, withDeadline } from '@millrace/foundation';
import { Notifier, notificationChannel } from '@millrace/postgres';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { DatabaseTime } from './database-time.js';
import { InstanceReporter } from './instance-reporter.js';
import { InstanceStore, type InstanceWish } from './instance-store.js';

/** Between two heartbeats, at most. */
const BEAT_MS = 5_000;
/** How long a start waits for the first one. */
const FIRST_BEAT_MS = 1_000;
/** How long the last words may take: a database that is away must not hold up a stop. */
const LAST_WORDS_MS = 1_000;
/** Says that somebody has scaled. */
const SCALED = 'scale';

/** Says that this instance is there, and does what is wished of it. */
@Injectable()
export class Heartbeat implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #parts: ServerParts;
  readonly #engine: BulkActionEngine;
  readonly #store: InstanceStore;
  readonly #reporter: InstanceReporter;
  readonly #time: DatabaseTime;
  readonly #notifier: Notifier;
  readonly #beating: Loop;
  /** The wish that was applied last. */
  #applied: string | undefined;
  #noteFirst: () => void = () => {};
  readonly #firstBeat = new Promise<void>((resolve) => {
    this.#noteFirst = resolve;
  });

  constructor(
    @Inject(PARTS) parts: ServerParts,
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(InstanceStore) store: InstanceStore,
    @Inject(InstanceReporter) reporter: InstanceReporter,
    @Inject(DatabaseTime) time: DatabaseTime,
  ) {
    const { clock, log, database, config } = parts;
    this.#parts = parts;
    this.#engine = engine;
    this.#store = store;
    this.#reporter = reporter;
    this.#time = time;
    this.#notifier = new Notifier(database, notificationChannel('server', config.schema), log);
    const kit = { clock, rng: systemRng(), logger: log };
    this.#beating = loop(kit, 'Report this instance', BEAT_MS, () => this.#beat(), { unref: true });
  }

  /** The first heartbeat is waited for, so that an instance that answers is one that is known. */
  async onApplicationBootstrap(): Promise<void> {
    this.#notifier.start((hint) => {
      if (hint === SCALED) this.#beating.trigger();
    });
    this.#beating.start();
    await withDeadline(this.#parts.clock, FIRST_BEAT_MS, this.#firstBeat);
  }

  /** Tells all instances that somebody has scaled. */
  tellScaled(): void {
    this.#notifier.send(SCALED);
  }

  /** Runs when everything has ended. */
  async onApplicationShutdown(): Promise<void> {
    await withDeadline(this.#parts.clock, LAST_WORDS_MS, this.#end());
  }

  async #beat(): Promise<void> {
    const report = await this.#reporter.report();
    const askedAt = this.#parts.clock.now();
    const wish = await this.#store.note(report);
    this.#time.note(wish.now, askedAt);
    this.#noteFirst();
    // This beat has reported the count of before.
    if (this.#apply(wish)) this.#beating.trigger();
  }

  #apply({ workers, mark }: InstanceWish): boolean {
    if (workers === undefined || mark === this.#applied || !this.#reporter.runsJobs) return false;
    this.#applied = mark;
    try {
      this.#engine.pool.scaleWorkers(workers);
      return true;
    } catch (error) {
      this.#parts.log.warn(
        { workers, reason: toWorkError(error).message },
        'This instance could not be scaled',
      );
      return false;
    }
  }

  async #end(): Promise<void> {
    try {
      await Promise.all([this.#beating.stop(), this.#notifier.stop()]);
      await this.#store.forget(this.#parts.instanceId);
    } catch (error) {
      this.#parts.log.debug(
        { reason: toWorkError(error).message },
        'This instance could not say that it ends; it is shown as gone for a day',
      );
    }
  }
}
