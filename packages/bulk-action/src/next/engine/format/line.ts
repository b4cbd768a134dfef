import type { JobEnded, JobOutcome } from '../state/change.js';
import type { Chunk, ChunkOutcomes } from '../state/chunks.js';
import { addressOf, type ChunkAddress, indexOf } from '../state/position.js';
import { ByteReader, ByteWriter } from './bytes.js';

const LINE_VERSION = 1;
const OUTCOMES = [undefined, 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
const HAS_FACTS = 4;
const HAS_CODE = 8;

/** What is left of a job once its chunk is gone. */
export interface LineEntry {
  /** Empty for a made id. */
  readonly id: string;
  /** Undefined for a job that never ended: its round was cut. */
  readonly outcome: JobOutcome | undefined;
  /** Undefined if the job had ended before its owner took over: the record of a group has outcomes only. */
  readonly facts: LineFacts | undefined;
}

interface LineFacts {
  readonly attempts: number;
  readonly durationMs: number;
  readonly endedMs: number;
  readonly code: string | undefined;
}

/** Returns how a job of an unfinished chunk has ended, or undefined. */
export function outcomeAt({ bits }: ChunkOutcomes, index: number): JobOutcome | undefined {
  return OUTCOMES[((bits[index >> 2] ?? 0) >> ((index & 3) * 2)) & 3];
}

const scratch = new ByteWriter();

/** Writes the compact line of a chunk: about 8 bytes a job besides the ids that callers chose. */
export function encodeLine(chunk: Chunk, outcomes: ChunkOutcomes): Uint8Array {
  const out = scratch.begin(LINE_VERSION);
  const { facts, codes } = outcomes;
  const baseMs = facts[3] ?? 0;
  const factsAt: number[] = [];
  for (let at = 0; at < facts.length; at += 4) factsAt[facts[at] as number] = at;
  out.count(baseMs);
  out.count(chunk.lines.length);
  chunk.lines.forEach((line, index) => {
    const at = factsAt[index];
    const code = codes?.get(index);
    const outcome = OUTCOMES.indexOf(outcomeAt(outcomes, index));
    out.byte(outcome + (at === undefined ? 0 : HAS_FACTS) + (code === undefined ? 0 : HAS_CODE));
    out.text(line.slice(0, line.indexOf('\t')));
    if (at !== undefined) {
      out.count(facts[at + 1] as number);
      out.number(facts[at + 2] as number);
      out.integer((facts[at + 3] as number) - baseMs);
    }
    if (code !== undefined) out.text(code);
  });
  return out.finish();
}

/** Reads a compact line. @throws FormatError if it is damaged. */
export function decodeLine(bytes: Uint8Array): readonly LineEntry[] {
  const from = new ByteReader(bytes, LINE_VERSION);
  const baseMs = from.count();
  return Array.from({ length: from.count() }, () => {
    const flags = from.byte();
    const id = from.text();
    const facts =
      flags & HAS_FACTS
        ? { attempts: from.count(), durationMs: from.number(), endedMs: baseMs + from.integer() }
        : undefined;
    const code = flags & HAS_CODE ? from.text() : undefined;
    return { id, outcome: OUTCOMES[flags & 3], facts: facts && { ...facts, code } };
  });
}

const OUTCOME_BYTES = 16;
const BITS = { COMPLETED: 1, FAILED: 2, CANCELLED: 3 } as const;

/** Notes the end of a job until all jobs of its chunk have ended. */
export function noteOutcome(
  outcomes: Map<ChunkAddress, ChunkOutcomes>,
  { position, outcome, durationMs = 0, code, atUs }: JobEnded,
  attempts: number,
): void {
  const address = addressOf(position);
  const index = indexOf(position);
  const endedMs = Math.floor(atUs / 1000);
  let ends = outcomes.get(address);
  if (ends) ends.facts.push(index, attempts, durationMs, endedMs);
  else {
    const facts = [index, attempts, durationMs, endedMs];
    ends = { ended: 0, bits: new Uint8Array(OUTCOME_BYTES), facts, codes: undefined };
    outcomes.set(address, ends);
  }
  ends.ended += 1;
  const byte = index >> 2;
  ends.bits[byte] = (ends.bits[byte] ?? 0) | (BITS[outcome] << ((index & 3) * 2));
  if (outcome !== 'FAILED') return;
  ends.codes ??= new Map();
  ends.codes.set(index, code ?? '');
}
