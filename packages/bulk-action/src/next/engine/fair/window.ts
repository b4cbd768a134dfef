import { ratePerSecond } from '../../../rules/rate-window.js';
import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { decodeChunk } from '../format/chunk.js';
import type { Chunk } from '../state/chunks.js';
import type { FairOrder, Ordered } from '../state/fair-order.js';
import { addressOf, type ChunkAddress, firstPosition, indexOf, queueOfChunk } from '../state/position.js';
import type { Group, Queue } from '../state/records.js';
import type { EngineState, Want } from '../state/state.js';

/*
 * Chunks are loaded for groups near the head of the fair order only: when a group comes into the order, when a turn passes near
 * it, and at the latest when its turn has come. Their size is bounded; the oldest go first.
 */

/** Jobs of a queue that are loaded ahead, at most: so many, or what all slots run at once twice. */
const WINDOW_JOBS = 128;
/** The time whose starts are loaded ahead twice, as a part of a second. */
const WINDOW_SECONDS = 0.02;
/** Wants of one commit that groups may add by coming into the order. */
const ENTRY_WANTS = 256;

/** Starts of 20 ms or the slots of all instances, whichever is more, twice. */
function turnsAhead(state: EngineState): number {
  const starts = ratePerSecond(state.starts, state.nowMs) * WINDOW_SECONDS;
  return 2 * Math.ceil(Math.max(starts, state.slots.live, 1));
}

/** Returns how many jobs of a queue are to be loaded: its share of the turns ahead. */
function windowOf(state: EngineState, { tenant }: Group, queue: Queue): number {
  const turns = turnsAhead(state);
  const sharers = Math.max(1, state.shard.free.seats.size) * Math.max(1, tenant.free.groups.size);
  const most = Math.max(WINDOW_JOBS, 2 * state.slots.live);
  return Math.min(most, Math.max(2, Math.ceil(turns / sharers), queue.window));
}

/** Asks for the next chunks of a queue if less than half of its window is loaded. */
export function askAhead(state: EngineState, group: Group, queue: Queue): void {
  if (queue.isAsked) return;
  const last = queue.loaded.at(-1);
  const end = last ? firstPosition(last.address + 1) : queue.cursor;
  if (Math.max(end, queue.searched) >= queue.tail) return;
  const left = last ? queue.loadedJobs - indexOf(queue.cursor) : 0;
  if (left >= WINDOW_JOBS / 2 && left >= state.slots.live) return;
  const window = windowOf(state, group, queue);
  if (left * 2 > window) return;
  queue.isAsked = true;
  queue.announced = undefined;
  const after = last ? last.address : addressOf(queue.cursor) - 1;
  const chunks = Math.ceil((window - left) / Math.max(1, queue.chunkJobs));
  state.wants.push({ group, queue, after, chunks, tail: queue.tail });
}

/** Asks for one chunk, once. */
export function askFor(state: EngineState, group: Group, address: ChunkAddress): void {
  group.asked ??= new Set();
  if (group.asked.has(address)) return;
  group.asked.add(address);
  state.wants.push({ group, queue: undefined, address });
}

/** Asks for what the head of a group lacks. */
function askMissing(state: EngineState, group: Group): void {
  const { missing } = group;
  if (missing === undefined) return;
  if (typeof missing === 'number') askFor(state, group, addressOf(missing));
  else if (missing.late[0] !== undefined) askFor(state, group, missing.late[0]);
  else askAhead(state, group, missing);
}

/** The turn of a group has come and its job is not loaded: it asks for more from now on. */
export function askLate(state: EngineState, group: Group): void {
  const { missing } = group;
  if (typeof missing === 'object' && !missing.isAsked && missing.chunkJobs > 0)
    missing.window = Math.min(WINDOW_JOBS, 2 * Math.max(1, missing.window));
  askMissing(state, group);
}

/** A group comes into the order: its job is loaded at once if few wait to be loaded, or if it is the first of its tenant. */
export function askOnEntry(state: EngineState, group: Group): void {
  if (state.wants.length >= ENTRY_WANTS || isFull(state)) return;
  if (state.blind <= ENTRY_WANTS || group.tenant.free.groups.size === 0) askMissing(state, group);
}

const isFull = ({ loadedBytes, config }: EngineState): boolean => loadedBytes >= config.windowBytesMax;

/** Asks for the jobs of groups whose turns are next. */
export function lookAhead(state: EngineState): void {
  if (state.blind === 0 || state.turnsAhead > 0) return;
  const turns = turnsAhead(state);
  state.turnsAhead = Math.ceil(turns / 2);
  const { seats } = state.shard.free;
  const perSeat = Math.ceil(turns / Math.max(1, seats.size));
  for (const seat of nearest(seats, turns))
    for (const group of nearest(seat.groups, perSeat)) {
      if (isFull(state)) return;
      if (!group.head) askMissing(state, group);
    }
}

/** Returns those of an order whose turns are next; all of a short one in any order. */
const nearest = <T extends Ordered>(order: FairOrder<T>, count: number): readonly T[] =>
  order.size <= count ? order.items : order.first(count);

/** Registers jobs that the journal has stored. A chunk that the queue has passed comes to the front. */
export function announceChunk(state: EngineState, group: Group, address: ChunkAddress, jobs: number): void {
  const queue = group.queueOf(queueOfChunk(address));
  const first = firstPosition(address);
  const last = queue.loaded.at(-1);
  const isPassed =
    first < Math.max(queue.cursor, queue.next, queue.searched) ||
    (last !== undefined && address < last.address);
  const isLate = isPassed && !group.chunks.has(address);
  if (queue.isAsked && !isLate) {
    queue.announced ??= [];
    queue.announced.push(address);
  }
  queue.chunkJobs = jobs;
  decide(state, { kind: 'announced', group, address, jobs, isLate, atUs: state.nowUs });
}

interface Found {
  readonly address: ChunkAddress;
  readonly text: string;
}

/**
 * Takes in what was found of a want.
 * @param count - number of chunks that were found, with those that are not needed.
 */
export function takeLoaded(state: EngineState, want: Want, found: readonly Found[], count: number): void {
  const { group, queue } = want;
  if (queue) {
    if (!queue.isAsked) return;
    queue.isAsked = false;
    if (count === 0) queue.searched = Math.max(queue.searched, want.tail);
    takeNext(state, group, queue, found);
    return;
  }
  group.asked?.delete(want.address);
  for (const { address, text } of found)
    bringLate(state, group, address, keepChunk(state, group, address, text));
}

/** The store has lost a chunk: what waits for its bodies goes on without them. */
export function missChunk(state: EngineState, { group, address }: Extract<Want, { queue: undefined }>): void {
  const { createdMs } = group;
  const nothing = { lines: [], jobs: 0, bytes: 0, isEvicted: false, types: [] };
  const chunk: Chunk = { address, createdMs, dueMs: undefined, ...nothing };
  group.chunks.set(address, chunk);
  bringLate(state, group, address, chunk);
}

/** A late chunk is loaded: its jobs come first. */
function bringLate(state: EngineState, group: Group, address: ChunkAddress, { jobs }: Chunk): void {
  if (hasEnded(group.status) || !group.queues[queueOfChunk(address)]?.late.includes(address)) return;
  decide(state, { kind: 'fronted', group, address, jobs });
}

function takeNext(state: EngineState, group: Group, queue: Queue, found: readonly Found[]): void {
  const { announced = [] } = queue;
  queue.announced = undefined;
  if (hasEnded(group.status)) return;
  let end = queue.loaded.at(-1)?.address ?? -1;
  for (const { address, text } of found) {
    if (address <= end || firstPosition(address) >= queue.tail) continue;
    if (queue.late.includes(address)) continue;
    const chunk = keepChunk(state, group, address, text);
    queue.loaded.push(chunk);
    queue.loadedJobs += chunk.jobs;
    queue.chunkJobs = chunk.jobs;
    end = address;
  }
  // What became visible between the reading of its neighbours and its announcement.
  for (const address of announced)
    if ((address < end || firstPosition(address) < queue.searched) && !group.chunks.has(address))
      decide(state, { kind: 'announced', group, address, jobs: 0, isLate: true, atUs: state.nowUs });
}

/** Forgets a want that was not answered, so that its chunks can be requested again. */
export function forgetWant({ group, queue, ...want }: Want): void {
  if (queue) queue.isAsked = false;
  else if ('address' in want) group.asked?.delete(want.address);
}

function keepChunk(state: EngineState, group: Group, address: ChunkAddress, text: string): Chunk {
  const known = group.chunks.get(address);
  if (known && !known.isEvicted) return known;
  const chunk = decodeChunk(address, text);
  group.chunks.set(address, chunk);
  state.loadedBytes += chunk.bytes;
  state.loaded.push({ group, chunk });
  return chunk;
}

/** The bodies of a chunk are no longer needed. */
export function dropChunk(state: EngineState, group: Group, address: ChunkAddress): void {
  const chunk = group.chunks.get(address);
  if (!chunk) return;
  group.chunks.delete(address);
  state.loadedBytes -= chunk.bytes;
  chunk.bytes = 0;
}
