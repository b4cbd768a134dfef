import { BulkActionService } from '@millrace/bulk-action/nestjs';
import type { StatPoint } from '@millrace/contract';
import { CachedRead, type Clock, TIMED_OUT, withDeadline } from '@millrace/foundation';
import { Operations } from '@millrace/orchestrator/nestjs';
import { Batches } from '@millrace/outbox';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** How long a store may take to answer. */
const LOOK_MS = 1_000;

/** The contents of the stores. null: the last read failed, or there was none. */
export type StoreSeen = Pick<StatPoint, 'queues' | 'backlog' | 'openOperations'>;

/** Reads gauges of the stores. Each store has one read in progress at most, and no caller waits longer than `LOOK_MS`. */
@Injectable()
export class StoreGauges {
  readonly #queues: Look<StoreSeen['queues']>;
  readonly #backlog: Look<StoreSeen['backlog']>;
  readonly #operations: Look<StoreSeen['openOperations']>;

  constructor(
    @Inject(PARTS) { clock }: Pick<ServerParts, 'clock'>,
    @Inject(BulkActionService) bulk: BulkActionService,
    @Inject(Batches) batches: Batches,
    @Inject(Operations) operations: Operations,
  ) {
    this.#queues = new Look(clock, async () => queuesOf(await bulk.getQueues()));
    this.#backlog = new Look(clock, async () => {
      const { ready, processing, oldestReadyAgeMs = 0 } = await batches.backlog();
      return { ready, processing, oldestReadyAgeMs };
    });
    this.#operations = new Look(clock, async () => {
      const { byState } = await operations.openCounts();
      return byState.PENDING + byState.IN_PROGRESS;
    });
  }

  /** The results of the last reads. */
  get latest(): StoreSeen {
    return {
      queues: this.#queues.latest,
      backlog: this.#backlog.latest,
      openOperations: this.#operations.latest,
    };
  }

  /** Reads all stores. */
  async look(): Promise<StoreSeen> {
    const [queues, backlog, openOperations] = await Promise.all([
      this.#queues.read(),
      this.#backlog.read(),
      this.#operations.read(),
    ]);
    return { queues, backlog, openOperations };
  }

  /** Reads the queues of bulk jobs only, which is cheap enough for once a second. */
  async lookAtQueues(): Promise<void> {
    await this.#queues.read();
  }
}

/** One read of a store. Unlike the gauges of a scrape, a chart must show a gap when its store failed, so a failure is null. */
class Look<T> {
  readonly #clock: Clock;
  readonly #read: CachedRead<void>;
  latest: T | null = null;

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    const read = async () => {
      this.latest = await ask().catch(() => null);
    };
    this.#read = new CachedRead({ read, clock });
  }

  async read(): Promise<T | null> {
    const seen = await withDeadline(this.#clock, LOOK_MS, this.#read.get());
    return seen === TIMED_OUT ? null : this.latest;
  }
}

type Queues = NonNullable<StoreSeen['queues']>;

function queuesOf(view: Queues): Queues {
  const { lane, ready, nonReady, inFlight, deadLetters, oldestWaitingMs, tenants } = view;
  const { liveSlots, waitingSlots, startsPerSecond } = view;
  return {
    ...{ lane, ready, nonReady, inFlight, deadLetters, oldestWaitingMs, tenants },
    ...{ liveSlots, waitingSlots, startsPerSecond },
  };
}
