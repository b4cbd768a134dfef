import { BulkActionService } from '@millrace/bulk-action/nestjs';
import type { StatPoint } from '@millrace/contract';
import { type Clock, TIMED_OUT, withDeadline } from '@millrace/foundation';
import { Operations } from '@millrace/orchestrator/nestjs';
import { Batches } from '@millrace/outbox';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** How long a store may take to answer. */
const LOOK_MS = 1_000;

/** What the stores hold. What nobody could look at is null. */
export type StoreSeen = Pick<StatPoint, 'queues' | 'backlog' | 'openOperations'>;

/** Looks at the stores for those who only want to know: none is asked twice at once, and none is waited for long. */
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

  /** What was seen last, by whichever look. */
  get latest(): StoreSeen {
    return {
      queues: this.#queues.latest,
      backlog: this.#backlog.latest,
      openOperations: this.#operations.latest,
    };
  }

  /** Looks at everything. */
  async look(): Promise<StoreSeen> {
    const [queues, backlog, openOperations] = await Promise.all([
      this.#queues.read(),
      this.#backlog.read(),
      this.#operations.read(),
    ]);
    return { queues, backlog, openOperations };
  }

  /** Looks at the queues of bulk jobs only: cheap enough for once a second. */
  async lookAtQueues(): Promise<void> {
    await this.#queues.read();
  }
}

/** One question to a store. */
class Look<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  #underWay: Promise<T | null> | undefined;
  latest: T | null = null;

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  async read(): Promise<T | null> {
    this.#underWay ??= this.#look();
    const seen = await withDeadline(this.#clock, LOOK_MS, this.#underWay);
    return seen === TIMED_OUT ? null : seen;
  }

  async #look(): Promise<T | null> {
    try {
      this.latest = await this.#ask();
    } catch {
      // The loops of the part log that its store is away.
      this.latest = null;
    } finally {
      this.#underWay = undefined;
    }
    return this.latest;
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
