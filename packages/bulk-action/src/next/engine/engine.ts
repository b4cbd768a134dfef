import type { Rng } from '@millrace/foundation';
import { hasEnded } from '../../states.js';
import { decide } from './changes/apply-change.js';
import { dueSmoothing } from './congestion/smoothing.js';
import { evictChunks } from './fair/evict.js';
import { type GatePass, newPass } from './fair/gate-pass.js';
import { refresh } from './fair/order.js';
import { forgetWant, missChunk, takeLoaded } from './fair/window.js';
import { ByteWriter } from './format/bytes.js';
import { encodeNote } from './format/note.js';
import { packRecord, type StoredRecord } from './format/record.js';
import type { Command } from './groups/commands.js';
import { isFound } from './groups/job-commands.js';
import {
  endRecallsOf,
  type Greeting,
  launch,
  type Notice,
  type Recalled,
  receiveCommand,
  receiveGreeting,
  receiveNotice,
  receiveRecalled,
  receiveStarted,
  redeliver,
  type Started,
} from './groups/notices.js';
import {
  forgetDeleted,
  type LettersDeleted,
  type Redrive,
  type RedriveAnswer,
  redriveLetters,
} from './groups/redrive.js';
import { receiveSubmit, type Submit } from './groups/submit.js';
import { jumpClock, watchDue } from './groups/time.js';
import { Intake, type Settled } from './intake.js';
import { type Loaded, restoreState } from './restore.js';
import { emitDueProgress } from './results/events.js';
import { assignAggregations } from './run/assign-aggregations.js';
import { dropIfDone } from './run/end.js';
import { type InstanceSeen, orphanJobs, seeInstance } from './run/instances.js';
import { returnOwedLetters } from './run/owed.js';
import type { Settlement } from './run/settle.js';
import { nextWakeUs, startJobs } from './run/start.js';
import { requeueDue } from './run/wait.js';
import type { JobBody } from './state/chunks.js';
import type { EngineConfig } from './state/config.js';
import type { JobRef, Message } from './state/message.js';
import type { ChunkAddress } from './state/position.js';
import type { Group, Job } from './state/records.js';
import type { EngineEvent, SideWrite } from './state/side-writes.js';
import { EngineState, type Want } from './state/state.js';

/** One entry of the inbox. */
export type InboxEntry =
  | Submit
  | Command
  | Notice
  | Started
  | Recalled
  | Greeting
  | Settled
  | LettersDeleted
  | InstanceSeen;

/** A job that an instance has to run once the commit is answered. */
export interface Delivery extends JobRef {
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
  /** For the delivery lists of instances: messages come before jobs to run. */
  readonly messages: ReadonlyMap<string, readonly Message[]>;
  readonly deliveries: ReadonlyMap<string, readonly Delivery[]>;
  readonly wants: readonly Want[];
  /** Written in the same step, in this order. */
  readonly writes: readonly SideWrite[];
  /** Told to subscribers once the commit is stored. */
  readonly events: readonly EngineEvent[];
  /** Entries that this commit and those before it have taken in, since the engine was made. Only these may be deleted. */
  readonly consumed: number;
  /** True if something waits that did not fit: commit again at once. */
  readonly hasMore: boolean;
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
  readonly #intake: Intake<Exclude<InboxEntry, Settled>>;
  /** Wants of the last commit that were not answered. */
  #wanted = new Set<Want>();
  /** What the last commit met at the gate. */
  #pass: GatePass;
  /** Records, cut and drops as of the last commit: they go with the next one. */
  #before: Pick<Commit, 'records' | 'cutSeq' | 'drops'> = { records: [], cutSeq: 1, drops: [] };

  constructor(config: EngineConfig, rng: Rng, checkpoint: Checkpoint = CHECKPOINT) {
    this.state = new EngineState(config);
    this.#pass = newPass(this.state);
    this.#intake = new Intake(this.state, (entry) => {
      if (!isFound(this.state, entry)) return false;
      this.#receive(entry);
      return true;
    });
    this.#rng = rng;
    this.#checkpointAt = checkpoint;
  }

  /**
   * Rebuilds the state from what is stored.
   * @param ownId - the owner's own instance: it calls `launch` before it runs a job.
   * @throws FormatError if a record or note is damaged.
   */
  open(loaded: Loaded, nowUs: number, ownId = ''): void {
    this.#moveTo(nowUs);
    this.state.ownId = ownId;
    restoreState(this.state, loaded);
    this.#before = { ...this.#before, drops: dropsOf(this.state) };
  }

  /** Takes in what others did, in the order of the inbox. */
  receive(entries: readonly InboxEntry[], nowUs: number): void {
    this.#moveTo(nowUs);
    this.#intake.add(entries);
  }

  #receive(entry: Exclude<InboxEntry, Settled>): void {
    const { state } = this;
    switch (entry.kind) {
      case 'submit':
        receiveSubmit(state, entry);
        return;
      case 'instance':
        seeInstance(state, entry);
        return;
      case 'letters-deleted':
        forgetDeleted(state, entry);
        return;
      case 'notice':
        receiveNotice(state, entry);
        return;
      case 'started':
        receiveStarted(state, entry);
        return;
      case 'recalled':
        receiveRecalled(state, entry);
        return;
      case 'greeting':
        receiveGreeting(state, entry);
        return;
      default:
        receiveCommand(state, entry);
    }
  }

  /** Settles an attempt of the owner's own. Returns false if it is too late to count. */
  settle(instanceId: string, settlement: Settlement, nowUs: number): boolean {
    this.#moveTo(nowUs);
    return this.#intake.settle(instanceId, settlement);
  }

  /** Queues jobs of dead letters again, with the next commit. The answer holds once that is stored. */
  redrive(redrive: Redrive, nowUs: number): RedriveAnswer {
    this.#moveTo(nowUs);
    return redriveLetters(this.state, redrive);
  }

  /** Instances have died: what they ran is queued again. */
  buried(instanceIds: readonly string[], nowUs: number): void {
    this.#moveTo(nowUs);
    for (const id of instanceIds) {
      orphanJobs(this.state, id, () => this.#rng.next());
      endRecallsOf(this.state, id);
    }
  }

  /**
   * Reports whether the owner's own instance may launch a job of an answered commit, and counts it as launched. A job that was
   * paused or cancelled since must not start.
   */
  launch(job: JobRef): boolean {
    return launch(this.state, job);
  }

  /**
   * The store's clock has jumped, back or ahead. Debts of rates, backoffs and timeouts last as long as before.
   * @param nowUs - engine time after the jump.
   */
  clockJump(deltaUs: number, nowUs: number): void {
    jumpClock(this.state, deltaUs, nowUs);
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
      this.#wanted.delete(want);
      const kept = found.filter(({ address }) => {
        const isOwed = group.kept?.owed.has(address) === true;
        return !this.#isDropped(group, address) && (isOwed || !isCut(group, address));
      });
      takeLoaded(this.state, want, kept, found.length);
      for (const { address } of kept) dropIfDone(this.state, group, address);
      if (!queue && found.length === 0) {
        missChunk(this.state, want);
        dropIfDone(this.state, group, want.address);
      }
      refresh(this.state, group);
    }
    evictChunks(this.state);
    this.#intake.drain();
  }

  /** Reports whether a chunk is still stored only because its drop goes with the next commit. */
  #isDropped(group: Group, address: ChunkAddress): boolean {
    return (
      this.#before.drops.some((drop) => drop.groupId === group.id && drop.address === address) ||
      this.state.drops.some((drop) => drop.group === group && drop.address === address)
    );
  }

  /** Returns the next commit, or undefined if nothing has happened that has to be stored. */
  commit(nowUs: number): Commit | undefined {
    const { state } = this;
    this.#moveTo(nowUs);
    const { epoch } = state.shard;
    for (const want of this.#wanted) forgetWant(want);
    this.#intake.drain();
    watchDue(state);
    requeueDue(state);
    const isRedelivered = redeliver(state);
    this.#pass = startJobs(state);
    returnOwedLetters(state);
    assignAggregations(state);
    emitDueProgress(state);
    this.#endEpoch();
    const { changes, wants, mail } = state;
    if (!isRedelivered && mail.size + changes.length + wants.length + this.#before.drops.length === 0)
      return undefined;
    const seq = state.seq + 1;
    const note = encodeNote(this.#writer, { seq, atUs: state.nowUs, epoch }, changes);
    const before = this.#before;
    const smoothing = dueSmoothing(state, this.#writer);
    const records = smoothing ? [...before.records, smoothing] : before.records;
    state.seq = seq;
    state.changes = [];
    state.wants = [];
    this.#wanted = new Set(wants);
    state.mail = new Map();
    state.recallsMade = 0;
    this.#before = { ...this.#checkpoint(changes.length), drops: dropsOf(state) };
    const sent = { messages: mail, deliveries: deliveriesOf(state), ...this.#besides() };
    return { seq, note, ...before, records, wants, ...sent };
  }

  /** Takes what goes with the note. */
  #besides(): Pick<Commit, 'writes' | 'events' | 'consumed' | 'hasMore'> {
    const { state } = this;
    const { events } = state;
    state.events = [];
    const { consumed, isWaiting: hasMore } = this.#intake;
    return { writes: state.writes.take(), events, consumed, hasMore };
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

/** Reports whether a chunk ended with its round. */
const isCut = ({ status, outcomes }: Group, address: ChunkAddress): boolean =>
  hasEnded(status) && !outcomes.has(address);

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
