import type { FailedTry } from '../model.js';
import type { GroupRecord, JobRecord } from './records.js';

/** A dead letter: a full copy of the job, so that it outlives the job's record. */
export interface DeadRecord {
  readonly seq: number;
  readonly group: GroupRecord;
  readonly jobId: string;
  /** For the answer that its last settlement got: a repeat gets it again, also after a redrive. */
  readonly record: JobRecord;
  readonly processorType: string;
  readonly payload: string;
  readonly cost: number;
  readonly charge: number | undefined;
  readonly notBefore: number | undefined;
  readonly deadline: number | undefined;
  readonly traceparent: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly attempts: number;
  readonly retryCount: number;
  readonly orphanCount: number;
  readonly failedTries: readonly FailedTry[];
  readonly error: string;
  readonly code: string;
  readonly signature: string;
  /** Wall time for people, store time for retention. */
  readonly failedAt: number;
  readonly failedMs: number;
}

type Index = Map<string, Map<number, DeadRecord>>;

/** The dead letters, oldest first, with their indexes by group and by signature. */
export class DeadRecords {
  readonly #bySeq = new Map<number, DeadRecord>();
  readonly #byGroup: Index = new Map();
  readonly #bySignature: Index = new Map();
  #highest = 0;

  /** How many there are. */
  get size(): number {
    return this.#bySeq.size;
  }

  /** A number above that of every letter. */
  get end(): number {
    return this.#highest + 1;
  }

  /** All, oldest first. */
  all(): IterableIterator<DeadRecord> {
    return this.#bySeq.values();
  }

  /** Those of a group, oldest first. */
  ofGroup(key: string): Iterable<DeadRecord> {
    return this.#byGroup.get(key)?.values() ?? [];
  }

  /** Those of a signature, oldest first. */
  ofSignature(signature: string): Iterable<DeadRecord> {
    return this.#bySignature.get(signature)?.values() ?? [];
  }

  /** Keeps a letter. */
  add(letter: DeadRecord): void {
    this.#bySeq.set(letter.seq, letter);
    this.#highest = letter.seq;
    indexed(this.#byGroup, letter.group.key).set(letter.seq, letter);
    indexed(this.#bySignature, letter.signature).set(letter.seq, letter);
    letter.group.deadLetters += 1;
  }

  /** Forgets a letter. */
  remove(letter: DeadRecord): void {
    this.#bySeq.delete(letter.seq);
    forget(this.#byGroup, letter.group.key, letter.seq);
    forget(this.#bySignature, letter.signature, letter.seq);
    letter.group.deadLetters -= 1;
  }
}

function indexed(index: Index, name: string): Map<number, DeadRecord> {
  let letters = index.get(name);
  if (!letters) {
    letters = new Map();
    index.set(name, letters);
  }
  return letters;
}

function forget(index: Index, name: string, seq: number): void {
  const letters = index.get(name);
  letters?.delete(seq);
  if (letters?.size === 0) index.delete(name);
}
