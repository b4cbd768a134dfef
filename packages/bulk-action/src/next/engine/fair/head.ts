import { bodyAt } from '../format/chunk.js';
import type { JobBody } from '../state/chunks.js';
import { addressOf, firstPosition, indexOf, type Position, queueOf } from '../state/position.js';
import { type Group, Job, type Queue } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { instanceFor, isSuspect } from './placement.js';
import { askAhead, askFor } from './window.js';

/**
 * Finds the job that has the next turn of a group: the front first, then the queue of the highest priority. If the chunk of that
 * job is not loaded, there is no head, and `missing` says what has to be loaded.
 */
export function findHead(state: EngineState, group: Group): Job | undefined {
  const { head } = group;
  if (head && (head.isFromFront || queueOf(head.position) >= highest(group))) return head;
  group.missing = undefined;
  group.head = headOfFront(state, group);
  if (group.head || group.missing !== undefined) return group.head;
  if (group.isOrdered && group.front.length > 0) return undefined;
  group.head = headOfQueues(state, group);
  return group.head;
}

/** Returns the highest priority of the jobs that were not started. */
function highest({ queues }: Group): number {
  for (let priority = queues.length - 1; priority > 0; priority--) {
    const queue = queues[priority];
    if (queue && (queue.cursor < queue.tail || queue.late.length > 0)) return priority;
  }
  return 0;
}

/** A job that no instance may run now, because it may be what kills processes, lets others of its group go first. */
function headOfFront(state: EngineState, group: Group): Job | undefined {
  for (const job of group.front) {
    job.body ??= knownBody(group, job.position);
    if (!job.body) {
      group.missing = job.position;
      return undefined;
    }
    if (!isSuspect(job) || instanceFor(state, job)) {
      job.isFromFront = true;
      return job;
    }
    state.suspected.add(group);
  }
  return undefined;
}

function headOfQueues(state: EngineState, group: Group): Job | undefined {
  for (let priority = group.queues.length - 1; priority >= 0; priority--) {
    const queue = group.queues[priority];
    if (!queue) continue;
    if (queue.late.length > 0) {
      group.missing = queue;
      return undefined;
    }
    if (queue.cursor >= queue.tail) continue;
    const body = bodyAtCursor(group, queue);
    if (body) {
      askAhead(state, group, queue);
      const head = new Job(group, queue.cursor);
      head.body = body;
      return head;
    }
    if (queue.searched >= queue.tail) queue.cursor = queue.tail;
    if (queue.cursor >= queue.tail) continue;
    group.missing = queue;
    return undefined;
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
    queue.loadedJobs -= chunk.jobs;
  }
  return undefined;
}

/** Returns the body of a job if its chunk is loaded, else asks for it. */
export function loadedBody(state: EngineState, group: Group, position: Position): JobBody | undefined {
  const body = knownBody(group, position);
  const address = addressOf(position);
  if (!body && group.chunks.get(address)?.isEvicted !== false) askFor(state, group, address);
  return body;
}

function knownBody(group: Group, position: Position): JobBody | undefined {
  const chunk = group.chunks.get(addressOf(position));
  return chunk && bodyAt(chunk, indexOf(position));
}

/** Takes the head from where it waits: it has its turn. */
export function takeHead(group: Group): Job {
  const job = group.head as Job;
  group.head = undefined;
  if (job.isFromFront) group.front.splice(group.front.indexOf(job), 1);
  else (group.queues[queueOf(job.position)] as Queue).cursor = job.position + 1;
  return job;
}

/** A head has left its queue without a turn. */
export function passCursor(group: Group, { position, isFromFront }: Job): void {
  if (isFromFront) return;
  const queue = group.queues[queueOf(position)] as Queue;
  queue.cursor = Math.max(queue.cursor, position + 1);
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
  const chunk = group.chunks.get(addressOf(job.position));
  if (chunk && queue.loaded[0] === chunk) return;
  if (chunk && !chunk.isEvicted) {
    queue.loaded.unshift(chunk);
    queue.loadedJobs += chunk.jobs;
    return;
  }
  queue.loaded.length = 0;
  queue.loadedJobs = 0;
}
