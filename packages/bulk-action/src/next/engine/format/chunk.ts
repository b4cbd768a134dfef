import { crc32 } from 'node:zlib';
import type { Chunk, JobBody } from '../state/chunks.js';
import type { ChunkAddress } from '../state/position.js';
import { FormatError } from './bytes.js';

const CHUNK_VERSION = '1';
/** In front of the lines: version, time of the submit, due time of the chunk, processor types. */
type Head = readonly [version: string, createdMs: number, dueMs: number | null, types: readonly string[]];

/** A job to be stored. */
export type NewJob = JobBody;

/**
 * Makes a chunk: a head, a line for each job, and a checksum. Payloads are JSON, which has no line break and no tab, so a
 * job is read without parsing its payload.
 *
 * ```
 *   ["1",createdMs,dueMs,["SEND_EMAIL"]]
 *   <id> TAB <type,cost,charge,deadline,traceparent> TAB <payload>       what is left out has its default
 *   <CRC-32>
 * ```
 */
export function encodeChunk(
  jobs: readonly NewJob[],
  { createdMs, dueMs }: { readonly createdMs: number; readonly dueMs?: number | undefined },
): string {
  const types = [...new Set(jobs.map(({ type }) => type))];
  const head: Head = [CHUNK_VERSION, createdMs, dueMs ?? null, types];
  const lines = jobs.map((job) => `${job.id}\t${factsOf(job, types)}\t${job.payload}`);
  const text = `${JSON.stringify(head)}\n${lines.join('\n')}\n`;
  return text + crc32(text).toString(36);
}

function factsOf({ type, cost, charge, deadlineMs, traceparent }: NewJob, types: readonly string[]): string {
  const values = [
    types.indexOf(type) || '',
    cost === 1 ? '' : cost,
    charge ?? '',
    deadlineMs ?? '',
    traceparent ?? '',
  ];
  return values.join(',').replace(/,+$/, '');
}

/** Reads a chunk. @throws FormatError if it is damaged. */
export function decodeChunk(address: ChunkAddress, text: string): Chunk {
  const end = text.lastIndexOf('\n') + 1;
  if (crc32(text.slice(0, end)).toString(36) !== text.slice(end))
    throw new FormatError('The checksum does not match the stored chunk');
  const [first = '', ...lines] = text.slice(0, end - 1).split('\n');
  const [version, createdMs, dueMs, types] = JSON.parse(first) as Head;
  if (version !== CHUNK_VERSION) throw new FormatError(`Chunk version ${version} is not known`);
  const { length } = lines;
  return {
    address,
    lines,
    jobs: length,
    bytes: text.length,
    isEvicted: false,
    types,
    createdMs,
    dueMs: dueMs ?? undefined,
  };
}

/** Returns a job of a chunk. */
export function bodyAt({ lines, types }: Chunk, index: number): JobBody | undefined {
  const line = lines[index];
  if (line === undefined) return undefined;
  const tab = line.indexOf('\t');
  const payloadAt = line.indexOf('\t', tab + 1) + 1;
  const id = line.slice(0, tab);
  const payload = line.slice(payloadAt);
  if (payloadAt === tab + 2)
    return {
      id,
      type: types[0] ?? '',
      cost: 1,
      charge: undefined,
      deadlineMs: undefined,
      traceparent: undefined,
      payload,
    };
  const [type, cost, charge, deadline, traceparent] = line.slice(tab + 1, payloadAt - 1).split(',');
  return {
    id,
    type: types[Number(type)] ?? '',
    cost: cost ? Number(cost) : 1,
    charge: charge ? Number(charge) : undefined,
    deadlineMs: deadline ? Number(deadline) : undefined,
    traceparent: traceparent || undefined,
    payload,
  };
}
