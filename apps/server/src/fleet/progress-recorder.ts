import type { GroupView } from '@millrace/bulk-action';
import { BulkActionService } from '@millrace/bulk-action/nestjs';
import { type Loop, loop, systemRng, toWorkError, withDeadline } from '@millrace/foundation';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { DatabaseTime } from './database-time.js';
import { InstanceStore } from './instance-store.js';
import { countsOf, PROGRESS_SLOT_MS, ProgressStore } from './progress-store.js';

/** Groups that are looked at: of more, about the newest. */
const GROUPS_MAX = 500;
/** A look at a database that is away must not hold up a stop. */
const STOP_MS = 500;

/**
 * Writes down how far groups are, from time to time. Of instances that share their groups the eldest does it for all; should two think so for
 * a moment, each point is still written once. What could not be written is not written later: the next look says more.
 */
@Injectable()
export class ProgressRecorder implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #parts: Pick<ServerParts, 'clock' | 'log' | 'config' | 'instanceId'>;
  readonly #bulk: Pick<BulkActionService, 'listActiveGroups'>;
  readonly #store: Pick<ProgressStore, 'write'>;
  readonly #instances: Pick<InstanceStore, 'isEldest'>;
  readonly #time: DatabaseTime;
  readonly #looking: Loop;
  /** What was written last of groups that are active: what is still so need not be sent. */
  #written: ReadonlyMap<string, string> = new Map();

  /** @param time - of the database: slots of all instances are the same. */
  constructor(
    @Inject(PARTS) parts: Pick<ServerParts, 'clock' | 'log' | 'config' | 'instanceId'>,
    @Inject(BulkActionService) bulk: Pick<BulkActionService, 'listActiveGroups'>,
    @Inject(ProgressStore) store: Pick<ProgressStore, 'write'>,
    @Inject(InstanceStore) instances: Pick<InstanceStore, 'isEldest'>,
    @Inject(DatabaseTime) time: DatabaseTime,
  ) {
    this.#parts = parts;
    this.#bulk = bulk;
    this.#store = store;
    this.#instances = instances;
    this.#time = time;
    const { clock, log } = parts;
    const kit = { clock, rng: systemRng(), logger: log };
    const look = () => this.look();
    this.#looking = loop(kit, 'Record the progress of groups', PROGRESS_SLOT_MS, look, { unref: true });
  }

  onApplicationBootstrap(): void {
    // Workers are many, and busy with something better.
    if (this.#parts.config.role !== 'worker') this.#looking.start();
  }

  /** Runs before the engines end. */
  async onModuleDestroy(): Promise<void> {
    await withDeadline(this.#parts.clock, STOP_MS, this.#looking.stop());
  }

  /** Looks at the groups, and writes down those that have changed. */
  async look(): Promise<void> {
    try {
      if (!(await this.#isMine())) return;
      await this.#record(await this.#bulk.listActiveGroups({ limit: GROUPS_MAX }));
    } catch (error) {
      const { message: reason } = toWorkError(error);
      this.#parts.log.debug({ reason }, 'How far groups are could not be written down this time');
    }
  }

  /** Groups in memory are known to this instance only. */
  async #isMine(): Promise<boolean> {
    const { config, instanceId } = this.#parts;
    return config.redisUrl === undefined || this.#instances.isEldest(instanceId);
  }

  async #record(groups: readonly GroupView[]): Promise<void> {
    const seen = new Map(groups.map((group) => [group.id, textOf(group)]));
    const changed = groups.filter(({ id }) => this.#written.get(id) !== seen.get(id));
    const written = new Set(changed.length === 0 ? [] : await this.#store.write(this.#time.now(), changed));
    // One that came too soon after its last point stays as it was written, and is tried again.
    this.#written = new Map(
      groups.flatMap(({ id }) => {
        const text = written.has(id) ? seen.get(id) : this.#written.get(id);
        return text === undefined ? [] : [[id, text] as const];
      }),
    );
  }
}

const textOf = (group: GroupView): string => `${group.createdAt} ${countsOf(group).join(' ')}`;
