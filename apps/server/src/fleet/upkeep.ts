import { type Clock, type Loop, loop, systemRng, withDeadline } from '@millrace/foundation';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { AuditStore } from './audit-log.js';
import { InstanceStore } from './instance-store.js';
import { ProgressStore } from './progress-store.js';
import { StatStore } from './stat-store.js';

const EVERY_MS = 600_000;
/** Rows of one statement, and statements of one kind at a time: what is left comes next time. */
const ROWS_MAX = 1_000;
const STEPS_MAX = 20;
const STOP_MS = 500;

/** Removes what is too old from the tables of the server; any instance does it for all. */
@Injectable()
export class Upkeep implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #clock: Clock;
  readonly #pruned: readonly { prune(limit: number): Promise<number> }[];
  readonly #pruning: Loop;

  /**
   * @param audit - entries of more than 90 days.
   * @param progress - of groups that make none any more.
   */
  constructor(
    @Inject(PARTS) { clock, log }: Pick<ServerParts, 'clock' | 'log'>,
    @Inject(InstanceStore) instances: InstanceStore,
    @Inject(StatStore) stats: StatStore,
    @Inject(AuditStore) audit: AuditStore,
    @Inject(ProgressStore) progress: ProgressStore,
  ) {
    this.#clock = clock;
    this.#pruned = [instances, stats, audit, progress];
    const kit = { clock, rng: systemRng(), logger: log };
    this.#pruning = loop(kit, 'Remove old rows', EVERY_MS, () => this.prune(), { unref: true });
  }

  onApplicationBootstrap(): void {
    this.#pruning.start();
  }

  async onModuleDestroy(): Promise<void> {
    // A database that is away must not hold up a stop.
    await withDeadline(this.#clock, STOP_MS, this.#pruning.stop());
  }

  /** Removes what is too old, as much as is done at a time. */
  async prune(): Promise<void> {
    for (const store of this.#pruned)
      for (let step = 0; step < STEPS_MAX; step++) if ((await store.prune(ROWS_MAX)) < ROWS_MAX) break;
  }
}
