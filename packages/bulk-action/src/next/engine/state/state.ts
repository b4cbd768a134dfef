import { IndexedHeap, LinkedList } from '@millrace/foundation';
import { newRateWindow, type RateWindow } from '../../../rules/rate-window.js';
import type { Change } from './change.js';
import type { Chunk } from './chunks.js';
import type { EngineConfig } from './config.js';
import { type Message, Nonces, type PendingRecall } from './message.js';
import type { ChunkAddress, Position } from './position.js';
import { FairLine, Group, type Instance, type Job, type Queue, Resource, Tenant } from './records.js';
import { type Recorded, Scope } from './scope.js';
import { type EngineEvent, SideWrites } from './side-writes.js';

/** What all tenants of a shard share: the global rate, the fair order of tenants, and the numbers of records. */
export class Shard extends Scope {
  readonly free = new FairLine();
  /** One higher after each time that nothing waited and nothing ran: older tags count as 0. */
  epoch = 1;
  nextNumber = 1;
  readonly nonces = new Nonces();
  /** Jobs of all groups that wait, and the groups that they belong to. Kept by `applyChange`. */
  pending = 0;
  waitingGroups = 0;
  /** Dead letters in the store. */
  letters = 0;
}

/** Chunks to load: the next ones of a queue, or one by its address. */
export type Want =
  | {
      readonly group: Group;
      readonly queue: Queue;
      readonly after: ChunkAddress;
      readonly chunks: number;
      /** End of the queue when it was asked: chunks before it that are not found have ended. */
      readonly tail: Position;
    }
  | { readonly group: Group; readonly queue: undefined; readonly address: ChunkAddress };

/** An order of delayed jobs by due time. */
const delayedJobs = (): IndexedHeap<Job, 'delayAt'> =>
  new IndexedHeap<Job, 'delayAt'>('delayAt', (a, b) =>
    a.dueMs === b.dueMs
      ? (a.group.number - b.group.number || a.position - b.position) < 0
      : a.dueMs < b.dueMs,
  );

/** Reports whether a tenant holds a lower part of its minimum than another; ties go by start tag, then by arrival. */
export const isFurtherBelow = (a: Tenant, b: Tenant): boolean =>
  a.minimumPart === b.minimumPart
    ? a.minimumStart < b.minimumStart ||
      (a.minimumStart === b.minimumStart &&
        (a.minimumTurn < b.minimumTurn || (a.minimumTurn === b.minimumTurn && a.number < b.number)))
    : a.minimumPart < b.minimumPart;

/** Everything that an engine knows. */
export class EngineState {
  readonly config: EngineConfig;
  /** The store's time, as far as the owner knows it. Never goes back. */
  nowUs = 0;
  /** The last commit that was made. */
  seq = 0;
  /** Changes since then. */
  changes: Change[] = [];
  readonly shard = new Shard(0);
  readonly tenants = new Map<string, Tenant>();
  readonly groups = new Map<string, Group>();
  readonly resources = new Map<string, Resource>();
  readonly byNumber = new Map<number, Recorded>();
  /** Records with changes that their stored form lacks, the longest dirty first. */
  readonly dirty = new LinkedList<Recorded>();
  /** Changes of all commits. */
  changesMade = 0;
  /** Resources with a line of their own. */
  readonly limited = new Set<Resource>();
  /** Resource of each processor type that calls one. */
  readonly resourceOfType = new Map<string, Resource>();
  readonly instances = new Map<string, Instance>();
  /** The owner's own instance. */
  ownId = '';
  /** Messages for instances, which the next commit delivers. */
  mail = new Map<string, Message[]>();
  /** Recalls without an answer, by number. */
  readonly recalls = new Map<number, PendingRecall>();
  recallsMade = 0;
  /** Jobs in flight that their instances do not have, until their chunks are loaded. */
  undelivered: Job[] = [];
  /** Ready jobs in the order of their turns. A job that has left is skipped. */
  ready: Job[] = [];
  readyJobs = 0;
  /** Scopes that wait for a token, by the time of it. */
  readonly parked = new IndexedHeap<Scope, 'parkedAt'>('parkedAt', (a, b) =>
    a.parkedUntilUs === b.parkedUntilUs ? a.number < b.number : a.parkedUntilUs < b.parkedUntilUs,
  );
  readonly delayed = delayedJobs();
  readonly watched = new IndexedHeap<Group, 'watchAt'>('watchAt', (a, b) =>
    a.watchMs === b.watchMs ? a.number < b.number : a.watchMs < b.watchMs,
  );
  /** Chunks whose bodies the next commit drops. */
  drops: { readonly group: Group; readonly address: ChunkAddress }[] = [];
  /** Chunks that the next commit asks for. */
  wants: Want[] = [];
  /** What the next commit writes beside its note. */
  readonly writes = new SideWrites();
  /** Events to send after the next commit. */
  events: EngineEvent[] = [];
  /** Groups with a progress event that waits until a second has passed since the last one. */
  readonly progressing: Group[] = [];
  /** Finished jobs kept as recent ones in this second. */
  recent = { second: 0, jobs: 0 };
  /** Groups that wait for an instance with their aggregators. */
  readonly aggregating = new Set<Group>();
  /** Ended groups with redriven jobs that have to become dead letters again. */
  readonly owing = new Set<Group>();
  /** Letters that were redriven lately, as `number:position`: a reader may not have seen that they are gone. */
  readonly redriven = new Set<string>();
  readonly starts: RateWindow = newRateWindow();
  /** Groups that a service slows alone. */
  readonly slowed = new Set<Group>();
  /** When learnt rates, windows and histories may be stored again, and whether they have changed. */
  smoothingDueMs = 0;
  isSmoothingDirty = false;
  /** Mean duration of all attempts, for the charge by time. */
  estimateMs = 1;
  /** Processor types that any instance has, and those that not every instance with slots has. */
  types: ReadonlySet<string> = new Set();
  scarceTypes: ReadonlySet<string> = new Set();
  /** Lines of jobs that not every instance can run. */
  readonly typeLines = new Map<string, FairLine>();
  /** Tenants with a minimum that wait, the lowest part of it first. */
  readonly minimums = new IndexedHeap<Tenant, 'minimumAt'>('minimumAt', isFurtherBelow);
  /** Groups with jobs that no instance may run now because they may be what kills processes. */
  readonly suspected = new Set<Group>();
  /** Groups with jobs in non-ready of whose type there is no processor. */
  readonly unprocessed = new Set<Group>();
  /** Groups that stand in the order with a job that is not loaded, and turns until the next look ahead. */
  blind = 0;
  turnsAhead = 0;
  /** Turns that were given so far. */
  turns = 0;
  /** Loaded chunks, the oldest first, and the size of their lines. */
  loaded: { readonly group: Group; readonly chunk: Chunk }[] = [];
  loadedBytes = 0;
  sweepAt = 0;
  isFetching = true;
  isDispatching = true;

  constructor(config: EngineConfig) {
    this.config = config;
    this.byNumber.set(0, this.shard);
    const { globalRps: rps, burst } = config.backpressure;
    this.shard.setRate({ rps, burst }, 0, config.limits.costMax);
  }

  get nowMs(): number {
    return Math.floor(this.nowUs / 1000);
  }

  /** Returns the resource of this name; adds it under a number if it is new. */
  addResource(number: number, name: string): Resource {
    const known = this.resources.get(name);
    if (known) return known;
    const { initialRps } = this.config.congestion;
    const settings = { ...(initialRps > 0 && { initialRps }), ...this.config.resources[name] };
    const resource = new Resource(number, name, settings);
    resource.setRate(settings, this.nowUs, this.config.limits.costMax);
    this.resources.set(name, resource);
    this.#register(resource);
    return resource;
  }

  /** Adds a tenant under a number. */
  addTenant(number: number, id: string): Tenant {
    const tenant = new Tenant(number, id, this.shard.free);
    this.tenants.set(id, tenant);
    this.#register(tenant);
    return tenant;
  }

  /** Adds a group under a number. */
  addGroup(number: number, id: string, tenant: Tenant, createdMs: number): Group {
    const group = new Group(number, id, tenant, createdMs);
    this.groups.set(id, group);
    this.#register(group);
    return group;
  }

  #register(record: Recorded): void {
    this.byNumber.set(record.number, record);
    this.shard.nextNumber = Math.max(this.shard.nextNumber, record.number + 1);
  }

  /** Worker slots of all live instances with processors, and those that wait for a job. */
  get slots(): { readonly live: number; readonly free: number } {
    let live = 0;
    let free = 0;
    for (const instance of this.instances.values()) {
      if (instance.types.size === 0) continue;
      live += instance.slots;
      free += Math.max(0, instance.free);
    }
    return { live, free };
  }
}
