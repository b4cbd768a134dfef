import { type CancelTimer, withDeadline } from '@millrace/foundation';
import { OrchestratorService } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { Notifier, notificationChannel } from '@millrace/postgres';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { NOTICE_CHANGES_MAX, readNotice, writeNotice } from './change-notice.js';
import { type Change, ChangeSet } from './change-set.js';
import { ChangesHub } from './changes-hub.js';

/** Between two notices of this process, at least. */
const TELL_EVERY_MS = 1_000;
const STOP_MS = 500;

/**
 * Tells of batches and operations that change in this process: those who listen here, and by NOTIFY those who listen to another instance.
 * Groups are told of by their own store.
 */
@Injectable()
export class ChangeAnnouncer implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #parts: ServerParts;
  readonly #hub: ChangesHub;
  readonly #notifier: Notifier;
  /** Nobody else can be on an embedded database. */
  readonly #hasOthers: boolean;
  readonly #outgoing = new ChangeSet(NOTICE_CHANGES_MAX);
  readonly #unlisten: readonly (() => void)[];
  #cancel: CancelTimer | undefined;
  #isStopped = false;

  constructor(
    @Inject(PARTS) parts: ServerParts,
    @Inject(Outbox) outbox: Outbox,
    @Inject(OrchestratorService) orchestrator: OrchestratorService,
    @Inject(ChangesHub) hub: ChangesHub,
  ) {
    const { database, config, log } = parts;
    this.#parts = parts;
    this.#hub = hub;
    this.#hasOthers = database.kind !== 'pglite';
    this.#notifier = new Notifier(database, notificationChannel('changes', config.schema), log);
    const batch = (tenant: string, id: string) => this.#note({ kind: 'batches', tenant, id });
    const operation = (tenant: string, id: string) => this.#note({ kind: 'operations', tenant, id });
    this.#unlisten = [
      outbox.events.on('started', ({ tenant, id }) => batch(tenant, id)),
      outbox.events.on('task', ({ tenant, batchId }) => batch(tenant, batchId)),
      outbox.events.on('batch', ({ tenant, id }) => batch(tenant, id)),
      orchestrator.events.on('accepted', ({ tenant, opId }) => operation(tenant, opId)),
      orchestrator.events.on('ended', ({ operation: { tenant, opId } }) => operation(tenant, opId)),
    ];
  }

  onApplicationBootstrap(): void {
    if (this.#hasOthers && this.#parts.config.role !== 'worker')
      this.#notifier.start((text) => this.#hear(text));
  }

  /** Runs when everything has ended. */
  async onApplicationShutdown(): Promise<void> {
    this.#isStopped = true;
    for (const end of this.#unlisten) end();
    this.#cancel?.();
    // A database that is away must not hold up a stop.
    await withDeadline(this.#parts.clock, STOP_MS, this.#notifier.stop());
  }

  #note(change: Change): void {
    this.#hub.note(change);
    if (!this.#hasOthers || this.#isStopped) return;
    this.#outgoing.add(change);
    this.#cancel ??= this.#parts.clock.setTimer(TELL_EVERY_MS, () => this.#send(), { unref: true });
  }

  #send(): void {
    this.#cancel = undefined;
    this.#notifier.send(writeNotice(this.#parts.instanceId, this.#outgoing));
    this.#outgoing.clear();
  }

  #hear(text: string): void {
    if (this.#hub.size === 0) return;
    const notice = readNotice(text);
    if (!notice || notice.from === this.#parts.instanceId) return;
    for (const change of notice.changes) this.#hub.note(change);
    if (notice.more) this.#hub.noteMore();
  }
}
