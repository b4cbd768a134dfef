import { bodyAt } from '../format/chunk.js';
import type { Chunk, JobBody } from '../state/chunks.js';
import { addressOf, firstPosition, indexOf, type Position, queueOf } from '../state/position.js';
import { type Group, Job, type Queue } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** Chunks of a queue that are loaded ahead. */
const CHUNKS_AHEAD = 2;

/**
 * Finds the job that has the next turn of a group: the front first, then the queue of the highest priority. Asks for its chunk
 * if that is not loaded.
 */
export function findHead(state: EngineState, group: Group): Job | undefined {
  if (group.head) return group.head;
  const [first] = group.front;
  if (first) {
    first.body ??= loadedBody(state, group, first.position);
    group.head = first.body ? first : undefined;
    return group.head;
  }
  for (let priority = group.queues.length - 1; priority >= 0; priority--) {
    const queue = group.queues[priority];
    if (!queue || queue.cursor >= queue.tail) continue;
    const body = bodyAtCursor(group, queue);
    askAhead(state, group, queue);
    if (body) {
      group.head = new Job(group, queue.cursor);
      group.head.body = body;
      return group.head;
    }
    if (queue.cursor < queue.tail) return undefined;
  }
  return undefined;
}

/** Moves the cursor to the next job that was not cancelled, as far as chunks are loaded. */
function bodyAtCursor(group: Group, queue: Queue): JobBody | undefined {
  for (let chunk = queue.loaded[0]; chunk; chunk = queue.loaded[0]) {
    // A chunk may be found before it is announced.
    if (firstPosition(chunk.address) >= queue.tail) return undefined;
    queue.cursor = Math.max(queue.cursor, firstPosition(chunk.address));
    while (group.skipped.has(queue.cursor)) queue.cursor += 1;
    const body = addressOf(queue.cursor) === chunk.address ? bodyAt(chunk, indexOf(queue.cursor)) : undefined;
    if (body) return body;
    queue.cursor = Math.max(queue.cursor, firstPosition(chunk.address + 1));
    queue.loaded.shift();
  }
  return undefined;
}

function askAhead(state: EngineState, group: Group, queue: Queue): void {
  if (queue.isAsked || queue.loaded.length >= CHUNKS_AHEAD) return;
  const last = queue.loaded.at(-1);
  const after = last ? last.address : addressOf(queue.cursor) - 1;
  if (firstPosition(after + 1) >= queue.tail) return;
  queue.isAsked = true;
  state.wants.push({ group, queue, after, chunks: CHUNKS_AHEAD - queue.loaded.length, tail: queue.tail });
}

/** Returns the body of a job if its chunk is loaded, else asks for it. */
export function loadedBody(state: EngineState, group: Group, position: Position): JobBody | undefined {
  const address = addressOf(position);
  const chunk = group.chunks.get(address);
  if (chunk) return bodyAt(chunk, indexOf(position));
  askFor(state, group, address);
  return undefined;
}

/** Asks for one chunk, once. */
export function askFor(state: EngineState, group: Group, address: number): void {
  const isAsked = state.wants.some((want) => want.group === group && !want.queue && want.address === address);
  if (!isAsked) state.wants.push({ group, queue: undefined, address });
}

/** Takes the head from where it waits: it has its turn. */
export function takeHead(group: Group): Job {
  const job = group.head as Job;
  group.head = undefined;
  job.isFromFront = group.front[0] === job;
  if (job.isFromFront) group.front.shift();
  else (group.queues[queueOf(job.position)] as Queue).cursor = job.position + 1;
  return job;
}

/** Puts a job whose turn was taken back before all others of its group. */
export function returnHead(group: Group, job: Job): void {
  group.head = undefined;
  if (job.isFromFront) {
    group.front.unshift(job);
    return;
  }
  const queue = group.queues[queueOf(job.position)] as Queue;
  queue.cursor = job.position;
  const chunk = group.chunks.get(addressOf(job.position)) as Chunk;
  if (queue.loaded[0] !== chunk) queue.loaded.unshift(chunk);
}
