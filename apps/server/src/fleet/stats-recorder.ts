import { type CancelTimer, toWorkError, withDeadline } from '@millrace/foundation';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { DatabaseTime } from './database-time.js';
import { flatSeen } from './stat-point.js';
import { newCounts, StatRing } from './stat-ring.js';
import { StatStore } from './stat-store.js';
import { StoreGauges } from './store-gauges.js';
import { type Counts, WorkCounts } from './work-counts.js';

/** The shorter ring: a look at the end of each of its slots. */
const STEP_MS = 10_000;
/** A look that comes a little early or late is still about the slot that ends. */
const SLACK_MS = STEP_MS / 2;
/** A look this soon after the last one would be about nothing. */
const SOON_MS = 1_000;
/** How long the last slot may take to be written: a database that is away must not hold up a stop. */
const LAST_WORDS_MS = 1_000;

/** Writes down what this instance does, slot by slot. What could not be written is written with the next. */
@Injectable()
export class StatsRecorder implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #parts: Pick<ServerParts, 'clock' | 'log' | 'config' | 'instanceId'>;
  readonly #work: Pick<WorkCounts, 'read'>;
  readonly #gauges: Pick<StoreGauges, 'look'>;
  readonly #store: StatStore;
  readonly #time: DatabaseTime;
  readonly #rings = [new StatRing(10), new StatRing(60)];
  #before: Counts = {};
  #cancel: CancelTimer | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  /** @param time - of the database: slots of all instances are the same. */
  constructor(
    @Inject(PARTS) parts: Pick<ServerParts, 'clock' | 'log' | 'config' | 'instanceId'>,
    @Inject(WorkCounts) work: Pick<WorkCounts, 'read'>,
    @Inject(StoreGauges) gauges: Pick<StoreGauges, 'look'>,
    @Inject(StatStore) store: StatStore,
    @Inject(DatabaseTime) time: DatabaseTime,
  ) {
    this.#parts = parts;
    this.#work = work;
    this.#gauges = gauges;
    this.#store = store;
    this.#time = time;
  }

  onApplicationBootstrap(): void {
    this.#lookLater();
  }

  /** Runs when everything has ended: the last counts are not lost. */
  async onApplicationShutdown(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await withDeadline(this.#parts.clock, LAST_WORDS_MS, this.#end());
  }

  /** Counts what was done since the look before, and writes it to the slot that ends about now. */
  async look(): Promise<void> {
    const at = this.#time.now() - SLACK_MS;
    const counts = this.#work.read();
    const counted = newCounts(counts, this.#before);
    this.#before = counts;
    // All see the same stores; workers are many, and busy with something better.
    const looks = this.#parts.config.role !== 'worker' && !this.#isStopped;
    const seen = looks ? flatSeen(await this.#gauges.look()) : undefined;
    for (const ring of this.#rings) ring.add(at, counted, seen);
    await this.#write();
  }

  async #write(): Promise<void> {
    const rows = this.#rings.flatMap(({ unwritten }) => unwritten);
    try {
      await this.#store.write(this.#parts.instanceId, rows);
      for (const ring of this.#rings) ring.written(rows);
    } catch (error) {
      this.#parts.log.debug(
        { reason: toWorkError(error).message },
        'Stats could not be written; they will be, with the next',
      );
    }
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    const left = STEP_MS - (this.#time.now() % STEP_MS);
    const delayMs = left < SOON_MS ? left + STEP_MS : left;
    const look = () => {
      this.#looking = this.look().finally(() => this.#lookLater());
    };
    this.#cancel = this.#parts.clock.setTimer(delayMs, look, { unref: true });
  }

  async #end(): Promise<void> {
    await this.#looking;
    await this.look();
  }
}
