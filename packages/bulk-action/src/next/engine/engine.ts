import type { Rng } from '@millrace/foundation';
import { decide } from './changes/decide.js';
import { dueSmoothing } from './congestion/smoothing.js';
import { newPass } from './fair/gate.js';
import { refresh } from './fair/order.js';
import { ByteWriter } from './format/bytes.js';
import { decodeChunk } from './format/chunk.js';
import { encodeNote } from './format/note.js';
import { packRecord, type StoredRecord } from './format/record.js';
import { type Command, receiveCommand } from './groups/commands.js';
import { receiveSubmit, type Submit } from './groups/submit.js';
import { type Loaded, restoreState } from './restore.js';
import { dropIfDone } from './run/end.js';
import { type InstanceSeen, orphanJobs, seeInstance } from './run/instances.js';
import { type Settlement, settle } from './run/settle.js';
import { startJobs } from './run/start.js';
import { requeueDue } from './run/wait.js';
import { nextWakeUs } from './run/wake.js';
import type { EngineConfig } from './state/config.js';
import type { ChunkAddress, Position } from './state/position.js';
import type { Job, JobBody } from './state/records.js';
import { EngineState, type Want } from './state/state.js';

/** One entry of the inbox. */
export type InboxEntry =
  | Submit
  | Command
  | { readonly kind: 'settled'; readonly instanceId: string; readonly settlements: readonly Settlement[] }
  | InstanceSeen;

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
  /** State before this commit (learnt rates excepted), like `cutSeq` and `drops`: writing them again later does no harm. */
  readonly records: readonly StoredRecord[];
  /** Notes below it are covered by records. */
  readonly cutSeq: number;
  readonly drops: readonly { readonly groupId: string; readonly address: ChunkAddress }[];
  readonly deliveries: ReadonlyMap<string, readonly Delivery[]>;
  readonly wants: readonly Want[];
}

/** A record is written again when it was dirty for so many commits, or for so many changes of all records. */
export interface Checkpoint {
  readonly commits: number;
  readonly changes: number;
}

const CHECKPOINT: Checkpoint = { commits: 2_048, changes: 50_000 };
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
  readonly #checkpointAt: Checkpoint;
  readonly #writer = new ByteWriter();
  /** What the last commit met at the gate. */
  #pass = newPass();
  /** Records, cut and drops as of the last commit: they go with the next one. */
  #before: Pick<Commit, 'records' | 'cutSeq' | 'drops'> = { records: [], cutSeq: 1, drops: [] };

  constructor(config: EngineConfig, rng: Rng, checkpoint: Checkpoint = CHECKPOINT) {
    this.state = new EngineState(config);
    this.#rng = rng;
    this.#checkpointAt = checkpoint;
  }

  /** Rebuilds the state from what is stored. @throws FormatError if a record or note is damaged. */
  open(loaded: Loaded, nowUs: number): void {
    this.#moveTo(nowUs);
    restoreState(this.state, loaded);
  }

  /** Takes in what others did, in the order of the inbox. */
  receive(entries: readonly InboxEntry[], nowUs: number): void {
    this.#moveTo(nowUs);
    for (const entry of entries) this.#receive(entry);
  }

  #receive(entry: InboxEntry): void {
    const { state } = this;
    switch (entry.kind) {
      case 'submit':
        receiveSubmit(state, entry);
        return;
      case 'settled':
        for (const settlement of entry.settlements) settle(state, entry.instanceId, settlement);
        return;
      case 'instance':
        seeInstance(state, entry);
        return;
      default:
        receiveCommand(state, entry);
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
    for (const id of instanceIds) orphanJobs(this.state, id, () => this.#rng.next());
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
    this.#pass = startJobs(state);
    this.#endEpoch();
    const { changes, wants } = state;
    if (changes.length + wants.length + this.#before.drops.length === 0) return undefined;
    const seq = state.seq + 1;
    const note = encodeNote(this.#writer, { seq, atUs: state.nowUs, epoch }, changes);
    const before = this.#before;
    const smoothing = dueSmoothing(state, this.#writer);
    const records = smoothing ? [...before.records, smoothing] : before.records;
    state.seq = seq;
    state.changes = [];
    state.wants = [];
    this.#before = { ...this.#checkpoint(changes.length), drops: dropsOf(state) };
    return { seq, note, ...before, records, deliveries: deliveriesOf(state), wants };
  }

  /** Time in µs at which the next commit is worth a try though nothing else has happened. Infinity means never. */
  get wakeUs(): number {
    return nextWakeUs(this.state, this.#pass);
  }

  /** Packs the records that were dirty the longest. */
  #checkpoint(changes: number): Pick<Commit, 'records' | 'cutSeq'> {
    const { state } = this;
    state.changesMade += changes;
    const most = Math.max(RECORDS_MAX, RECORDS_PER_CHANGE_MAX * changes);
    const records: StoredRecord[] = [];
    for (let record = state.dirty.first; record && records.length < most; record = state.dirty.first) {
      const isDue =
        state.seq - record.dirtySeq >= this.#checkpointAt.commits ||
        state.changesMade - record.dirtyChange >= this.#checkpointAt.changes;
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
