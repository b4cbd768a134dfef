import type { Rng } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from '../../options.js';
import { hasEnded } from '../../states.js';
import { applyChange } from './changes/apply-change.js';
import { decide } from './changes/decide.js';
import { refresh } from './fair/order.js';
import { ByteWriter } from './format/bytes.js';
import { decodeChunk } from './format/chunk.js';
import { encodeNote, readNote } from './format/note.js';
import { packRecord, type StoredRecord, unpackRecords } from './format/record.js';
import { completeIfDone, cutRound, dropIfDone } from './run/end.js';
import { orphanJobs, type Settlement, settle } from './run/settle.js';
import { startJobs } from './run/start.js';
import { requeueDue } from './run/wait.js';
import type { GroupSettings } from './state/change.js';
import type { ChunkAddress, Position } from './state/position.js';
import { type Group, Instance, type Job, type JobBody, type Tenant } from './state/records.js';
import { EngineState, type Want } from './state/state.js';

/** What the store knows when an owner opens the shard. */
export interface Loaded {
  readonly seq: number;
  readonly records: readonly StoredRecord[];
  /** Notes newer than the oldest record, in order. */
  readonly notes: readonly Uint8Array[];
}

/** One entry of the inbox. */
export type InboxEntry =
  | {
      readonly kind: 'submit';
      readonly groupId: string;
      readonly tenantId: string;
      /** How the group was defined; of a known group it is ignored. */
      readonly settings: GroupSettings;
      readonly chunks: readonly { readonly address: ChunkAddress; readonly jobs: number }[];
      readonly isSealed: boolean;
    }
  | { readonly kind: 'settled'; readonly instanceId: string; readonly settlements: readonly Settlement[] }
  | { readonly kind: 'cancel'; readonly groupId: string }
  | { readonly kind: 'pause'; readonly groupId: string; readonly isPaused: boolean }
  | {
      readonly kind: 'instance';
      readonly id: string;
      readonly slots: number;
      readonly types: readonly string[];
    };

/** A job that an instance has to run once the commit is answered. */
export interface Delivery {
  readonly groupId: string;
  readonly position: Position;
  readonly attempt: number;
  readonly body: JobBody;
}

/** What the journal has to make durable in one step. */
export interface Commit {
  readonly seq: number;
  readonly note: Uint8Array;
  /** State before this commit, like `cutSeq` and `drops`: writing them again later does no harm. */
  readonly records: readonly StoredRecord[];
  /** Notes below it are covered by records. */
  readonly cutSeq: number;
  readonly drops: readonly { readonly groupId: string; readonly address: ChunkAddress }[];
  readonly deliveries: ReadonlyMap<string, readonly Delivery[]>;
  readonly wants: readonly Want[];
}

/** A record is written again when it was dirty for so many commits, or for so many changes of all records. */
const DIRTY_COMMITS_MAX = 2_048;
const DIRTY_CHANGES_MAX = 50_000;
/** Records that a commit writes at most: so many, or so many per change of it. */
const RECORDS_MAX = 100;
const RECORDS_PER_CHANGE_MAX = 1.5;

/**
 * The rules of one shard, without I/O. It is given everything that happens, and the time of it, and gives commits: what to
 * store, what to run and where.
 *
 * ```
 *   receive(entries) settle(…) beat(…) ──▶ state ──▶ commit(now) ──▶ journal ──▶ loaded(chunks) ──▶ commit(now) …
 * ```
 */
export class Engine {
  readonly state: EngineState;
  readonly #rng: Rng;
  readonly #writer = new ByteWriter();
  /** Records, cut and drops as of the last commit: they go with the next one. */
  #before: Pick<Commit, 'records' | 'cutSeq' | 'drops'> = { records: [], cutSeq: 1, drops: [] };

  constructor(config: ResolvedBulkActionConfig, rng: Rng) {
    this.state = new EngineState(config);
    this.#rng = rng;
  }

  /** Rebuilds the state from what is stored. @throws FormatError if a record or note is damaged. */
  open(loaded: Loaded, nowUs: number): void {
    const { state } = this;
    this.#moveTo(nowUs);
    unpackRecords(state, loaded.records);
    for (const note of loaded.notes)
      readNote(note, state, (change, head) => applyChange(state, change, head));
    state.seq = loaded.seq;
    for (const group of state.groups.values()) restore(state, group);
    for (const group of state.groups.values()) refresh(state, group);
  }

  /** Takes in what others did, in the order of the inbox. */
  receive(entries: readonly InboxEntry[], nowUs: number): void {
    this.#moveTo(nowUs);
    for (const entry of entries) this.#receive(entry);
  }

  #receive(entry: InboxEntry): void {
    const { state } = this;
    switch (entry.kind) {
      case 'settled':
        for (const settlement of entry.settlements) settle(state, entry.instanceId, settlement);
        return;
      case 'instance': {
        const known = state.instances.get(entry.id);
        if (known) {
          known.free += entry.slots - known.slots;
          known.slots = entry.slots;
          known.types = new Set(entry.types);
        } else this.#addInstance(entry.id, entry.slots, entry.types);
        return;
      }
      case 'cancel': {
        const group = state.groups.get(entry.groupId);
        if (group && !hasEnded(group.status)) cutRound(state, group, 'CANCELLED', 'CANCELLED');
        return;
      }
      case 'pause': {
        const group = state.groups.get(entry.groupId);
        if (!group || hasEnded(group.status) || group.isPaused === entry.isPaused) return;
        decide(state, { kind: 'paused', scope: group, isPaused: entry.isPaused });
        refresh(state, group);
        return;
      }
      case 'submit':
        this.#submitted(entry);
    }
  }

  #submitted(entry: Extract<InboxEntry, { kind: 'submit' }>): void {
    const { state } = this;
    const group = this.#groupOf(entry);
    for (const { address, jobs } of entry.chunks)
      decide(state, { kind: 'announced', group, address, jobs, atUs: state.nowUs });
    if (entry.isSealed && !group.isSealed) {
      decide(state, { kind: 'sealed', group });
      completeIfDone(state, group);
    }
    refresh(state, group);
  }

  #groupOf({ groupId, tenantId, settings }: Extract<InboxEntry, { kind: 'submit' }>): Group {
    const { state } = this;
    const known = state.groups.get(groupId);
    if (known) return known;
    const tenant = state.tenants.get(tenantId) ?? this.#addTenant(tenantId);
    const number = state.shard.nextNumber;
    decide(state, { kind: 'group', number, id: groupId, tenant, settings, atUs: state.nowUs });
    return state.groups.get(groupId) as Group;
  }

  #addTenant(id: string): Tenant {
    decide(this.state, { kind: 'tenant', number: this.state.shard.nextNumber, id });
    return this.state.tenants.get(id) as Tenant;
  }

  #addInstance(id: string, slots: number, types: readonly string[]): void {
    const { state } = this;
    const instance = new Instance(id, slots, new Set(types));
    state.instances.set(id, instance);
    for (const group of state.groups.values())
      for (const job of group.inFlight.values())
        if (job.instanceId === id) {
          instance.jobs.add(job);
          instance.free -= 1;
        }
  }

  /** Settles an attempt of the owner's own. Returns whether it counted. */
  settle(instanceId: string, settlement: Settlement, nowUs: number): boolean {
    this.#moveTo(nowUs);
    return settle(this.state, instanceId, settlement);
  }

  /** Instances have died: what they ran is queued again. */
  buried(instanceIds: readonly string[], nowUs: number): void {
    this.#moveTo(nowUs);
    for (const id of instanceIds) {
      const instance = this.state.instances.get(id);
      if (!instance) this.#addInstance(id, 0, []);
      orphanJobs(this.state, this.state.instances.get(id) as Instance, () => this.#rng.next());
    }
  }

  /** Takes in chunks that a commit wanted, in the order of its wants. */
  loaded(
    chunks: readonly {
      readonly want: Want;
      readonly found: readonly { address: ChunkAddress; text: string }[];
    }[],
    nowUs: number,
  ): void {
    this.#moveTo(nowUs);
    for (const { want, found } of chunks) {
      const { group, queue } = want;
      if (queue) queue.isAsked = false;
      for (const { address, text } of found) {
        const chunk = group.chunks.get(address) ?? decodeChunk(address, text);
        group.chunks.set(address, chunk);
        if (queue) queue.loaded.push(chunk);
        dropIfDone(this.state, group, address);
      }
      refresh(this.state, group);
    }
  }

  /** Returns the next commit, or undefined if nothing has happened that has to be stored. */
  commit(nowUs: number): Commit | undefined {
    const { state } = this;
    this.#moveTo(nowUs);
    const { epoch } = state.shard;
    requeueDue(state);
    startJobs(state);
    this.#endEpoch();
    const { changes, wants } = state;
    if (changes.length + wants.length + this.#before.drops.length === 0) return undefined;
    const seq = state.seq + 1;
    const note = encodeNote(this.#writer, { seq, atUs: state.nowUs, epoch }, changes);
    const before = this.#before;
    state.seq = seq;
    state.changes = [];
    state.wants = [];
    this.#before = { ...this.#checkpoint(changes.length), drops: dropsOf(state) };
    return { seq, note, ...before, deliveries: deliveriesOf(state), wants };
  }

  /** Packs the records that were dirty the longest. */
  #checkpoint(changes: number): Pick<Commit, 'records' | 'cutSeq'> {
    const { state } = this;
    state.changesMade += changes;
    const most = Math.max(RECORDS_MAX, RECORDS_PER_CHANGE_MAX * changes);
    const records: StoredRecord[] = [];
    for (let record = state.dirty.first; record && records.length < most; record = state.dirty.first) {
      const isDue =
        state.seq - record.dirtySeq >= DIRTY_COMMITS_MAX ||
        state.changesMade - record.dirtyChange >= DIRTY_CHANGES_MAX;
      if (!isDue) break;
      state.dirty.shift();
      record.recordSeq = state.seq;
      records.push(packRecord(this.#writer, state, record, state.seq));
    }
    return { records, cutSeq: state.dirty.first?.dirtySeq ?? state.seq + 1 };
  }

  #endEpoch(): void {
    const { state } = this;
    const { shard } = state;
    if (shard.held > 0 || state.delayed.size > 0 || shard.free.clock.live === 0) return;
    if (shard.free.clock.epoch !== shard.epoch) return;
    for (const tenant of state.tenants.values())
      if (tenant.free.groups.size > 0 || tenant.seats.size > 0) return;
    decide(state, { kind: 'epoch' });
  }

  #moveTo(nowUs: number): void {
    this.state.nowUs = Math.max(this.state.nowUs, nowUs);
  }
}

/** Derives what is not stored of a group. */
function restore(state: EngineState, group: Group): void {
  if (!hasEnded(group.status)) group.tenant.openGroups += 1;
  for (const queue of group.queues) if (queue) queue.cursor = queue.next;
  for (const job of group.delayed.values()) state.delayed.put(job);
  for (const job of group.inFlight.values()) {
    for (const scope of [group, group.tenant, state.shard]) scope.held += 1;
    if (job.resource) job.resource.held += 1;
    group.tenant.inFlight += 1;
  }
  group.tag.live = group.tag.stored;
  for (const seat of [group.tenant.free, ...group.tenant.seats.values()])
    for (const time of [seat.tag, seat.clock, seat.line.clock]) time.live = time.stored;
  if (group.away) group.away.tag.live = group.away.tag.stored;
}

function dropsOf(state: EngineState): Commit['drops'] {
  const drops = state.drops.map(({ group, address }) => ({ groupId: group.id, address }));
  state.drops = [];
  return drops;
}

function deliveriesOf(state: EngineState): Commit['deliveries'] {
  const deliveries = new Map<string, readonly Delivery[]>();
  for (const instance of state.instances.values()) {
    if (instance.outbox.length === 0) continue;
    deliveries.set(instance.id, instance.outbox.map(deliveryOf));
    instance.outbox = [];
  }
  return deliveries;
}

const deliveryOf = ({ group, position, attempt, body }: Job): Delivery => ({
  groupId: group.id,
  position,
  attempt,
  body: body as JobBody,
});
