/**
 * Where a job is among the jobs of its group: queue (the job's priority), chunk and index in the chunk, in one number.
 *
 * ```
 *   position = queue × 2^46 + chunk × 64 + index        address of a chunk = floor(position / 64)
 * ```
 * Positions of one queue are in the order of registration. The journal numbers the chunks of a queue; there may be gaps.
 */
export type Position = number;

/** The queue and the number of a chunk in one number. */
export type ChunkAddress = number;

/** Maximum number of jobs in a chunk. */
export const CHUNK_JOBS_MAX = 64;

/** The queue of jobs without a priority. */
export const DEFAULT_QUEUE = 5;

const CHUNKS_PER_QUEUE = 2 ** 40;

/** Returns the address of a chunk. */
export const chunkAddress = (queue: number, chunk: number): ChunkAddress => queue * CHUNKS_PER_QUEUE + chunk;

/** Returns the position of the first job of a chunk. */
export const firstPosition = (address: ChunkAddress): Position => address * CHUNK_JOBS_MAX;

/** Returns the address of the chunk that contains a position. */
export const addressOf = (position: Position): ChunkAddress => Math.floor(position / CHUNK_JOBS_MAX);

/** Returns the index of a position in its chunk. */
export const indexOf = (position: Position): number => position % CHUNK_JOBS_MAX;

/** Returns the queue of a chunk. */
export const queueOfChunk = (address: ChunkAddress): number => Math.floor(address / CHUNKS_PER_QUEUE);

/** Returns the queue of a position. */
export const queueOf = (position: Position): number => queueOfChunk(addressOf(position));

/** The position of the internal job that adds up the results of a round: behind all queues. */
export const AGGREGATION_POSITION: Position = firstPosition(chunkAddress(10, 0));

const MADE_ID = /^_(?:([0-9])\.)?([1-9][0-9]{0,13})$/;

/** Returns the id of a job that was given none: `_1`, or `_9.1` in a queue that is not the default. */
export function madeId(position: Position): string {
  const queue = queueOf(position);
  const count = position - firstPosition(chunkAddress(queue, 0)) + 1;
  return queue === DEFAULT_QUEUE ? `_${count}` : `_${queue}.${count}`;
}

/** Returns the position that a made id names, or undefined for any other id. */
export function positionOfMadeId(id: string): Position | undefined {
  const [, queue = String(DEFAULT_QUEUE), count] = MADE_ID.exec(id) ?? [];
  return count === undefined ? undefined : firstPosition(chunkAddress(Number(queue), 0)) + Number(count) - 1;
}

/** Returns the id of a job: its own, or the one that its position makes. */
export const idOf = (id: string, position: Position): string => id || madeId(position);
