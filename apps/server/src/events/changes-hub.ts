import { BulkActionService } from '@millrace/bulk-action/nestjs';
import type { ChangesSnapshot, HelloEvent } from '@millrace/contract';
import { type Loop, loop, systemRng } from '@millrace/foundation';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { StoreGauges } from '../fleet/store-gauges.js';
import type { SentEvent } from '../http/send-events.js';
import type { Caller } from '../security/caller.js';
import { ChangeListener } from './change-listener.js';
import { type Change, ChangeSet } from './change-set.js';

/** Between two events of a client, about. */
const TELL_EVERY_MS = 1_000;
/** Changes of one such time in this process: each is looked at for each client. */
const WINDOW_MAX = 1_000;

/**
 * What changes, for the clients of this process: collected once for all of them, and told about once a second. While nobody listens nothing is
 * collected, and no store is asked.
 */
@Injectable()
export class ChangesHub implements OnModuleDestroy {
  readonly #parts: Pick<ServerParts, 'clock' | 'log'>;
  readonly #bulk: Pick<BulkActionService, 'subscribe'>;
  readonly #gauges: Pick<StoreGauges, 'latest' | 'look' | 'lookAtQueues'>;
  readonly #listeners = new Set<ChangeListener>();
  readonly #window = new ChangeSet(WINDOW_MAX);
  readonly #telling: Loop;
  #unsubscribe: (() => void) | undefined;
  #toldSnapshot = '';

  constructor(
    @Inject(PARTS) parts: Pick<ServerParts, 'clock' | 'log'>,
    @Inject(BulkActionService) bulk: Pick<BulkActionService, 'subscribe'>,
    @Inject(StoreGauges) gauges: Pick<StoreGauges, 'latest' | 'look' | 'lookAtQueues'>,
  ) {
    const { clock, log } = parts;
    this.#parts = parts;
    this.#bulk = bulk;
    this.#gauges = gauges;
    const kit = { clock, rng: systemRng(), logger: log };
    const tell = () => this.#tell();
    this.#telling = loop(kit, 'Tell clients of changes', TELL_EVERY_MS, tell, { unref: true });
  }

  /** Clients that listen. */
  get size(): number {
    return this.#listeners.size;
  }

  /** Something has changed, here or in another instance. */
  note(change: Change): void {
    if (this.#listeners.size > 0) this.#window.add(change);
  }

  /** More has changed than anybody could say. */
  noteMore(): void {
    if (this.#listeners.size > 0) this.#window.addMore();
  }

  /**
   * The events of one client.
   * @param signal - aborts when the client has gone.
   */
  async *listen(
    caller: Pick<Caller, 'tenant'>,
    signal: AbortSignal,
  ): AsyncGenerator<SentEvent, void, undefined> {
    const listener = new ChangeListener(caller);
    this.#enter(listener);
    try {
      if (listener.seesAll) await this.#lookForHello();
      const snapshot = listener.seesAll ? this.#snapshot() : null;
      const hello: HelloEvent = { at: this.#now().toISOString(), snapshot };
      yield { event: 'hello', data: hello };
      while (await listener.changed(signal)) yield { event: 'changes', data: listener.take(this.#now()) };
    } finally {
      this.#leave(listener);
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    await this.#telling.stop();
  }

  #enter(listener: ChangeListener): void {
    this.#listeners.add(listener);
    this.#unsubscribe ??= this.#bulk.subscribe(({ type, groupId, tenant, status }) => {
      this.#window.add({ kind: 'groups', tenant, id: groupId, status });
      if (type === 'job.dead') this.#window.addDeadLetter(tenant);
    });
    this.#telling.start();
  }

  #leave(listener: ChangeListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    void this.#telling.stop();
    this.#window.clear();
    this.#toldSnapshot = '';
  }

  async #tell(): Promise<void> {
    await this.#gauges.lookAtQueues();
    const snapshot = this.#newSnapshot();
    for (const listener of this.#listeners) listener.tell(this.#window, snapshot);
    this.#window.clear();
  }

  /** What is looked at every ten seconds only is looked at now when it never was. */
  async #lookForHello(): Promise<void> {
    if (this.#gauges.latest.backlog) await this.#gauges.lookAtQueues();
    else await this.#gauges.look();
  }

  /** undefined while everything stands as it did. */
  #newSnapshot(): ChangesSnapshot | undefined {
    const snapshot = this.#snapshot();
    const { at, ...numbers } = snapshot;
    const text = JSON.stringify(numbers);
    if (text === this.#toldSnapshot) return undefined;
    this.#toldSnapshot = text;
    return snapshot;
  }

  #snapshot(): ChangesSnapshot {
    return { at: this.#now().toISOString(), ...this.#gauges.latest };
  }

  #now(): Date {
    return new Date(this.#parts.clock.now());
  }
}
