import type { ChargeCorrection } from '../state/change.js';
import { Group, Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { type ByteReader, type ByteWriter, FormatError } from './bytes.js';

/** Writes the parts of changes: records by their numbers, times as differences, instances once. */
export class NoteWriter {
  /** Instances in the order in which the note first names them. */
  readonly #instances: string[] = [];

  constructor(
    readonly bytes: ByteWriter,
    readonly atUs: number,
  ) {}

  /** Most changes happen at the time of the commit or shortly before. */
  time(atUs: number): void {
    this.bytes.integer(this.atUs - atUs);
  }

  group({ number }: Group): void {
    this.bytes.count(number);
  }

  resource(resource: Resource | undefined): void {
    this.bytes.count(resource?.number ?? 0);
  }

  instance(id: string): void {
    const at = this.#instances.indexOf(id);
    this.bytes.count(at + 1);
    if (at >= 0) return;
    this.bytes.text(id);
    this.#instances.push(id);
  }

  correction(correction: ChargeCorrection | undefined): void {
    this.bytes.byte(correction ? 1 : 0);
    if (!correction) return;
    this.bytes.float(correction.by);
    this.resource(correction.resource);
  }
}

/** Reads what a NoteWriter wrote. */
export class NoteReader {
  readonly #instances: string[] = [];

  constructor(
    readonly bytes: ByteReader,
    readonly state: EngineState,
    readonly atUs: number,
  ) {}

  time(): number {
    return this.atUs - this.bytes.integer();
  }

  group(): Group {
    return this.record(this.bytes.count(), Group);
  }

  resource(): Resource | undefined {
    const number = this.bytes.count();
    return number === 0 ? undefined : this.record(number, Resource);
  }

  /** @throws FormatError if no record of this type has the number. */
  record<T>(number: number, type: abstract new (...args: never) => T): T {
    const record = this.state.byNumber.get(number);
    if (record instanceof type) return record;
    throw new FormatError(`A note names record ${number}, which does not exist`);
  }

  instance(): string {
    const at = this.bytes.count();
    const known = this.#instances[at - 1];
    if (known !== undefined) return known;
    const id = this.bytes.text();
    this.#instances.push(id);
    return id;
  }

  correction(): ChargeCorrection | undefined {
    if (this.bytes.byte() === 0) return undefined;
    return { by: this.bytes.float(), resource: this.resource() };
  }
}

/** How a kind of change is written into a note and read from it. */
export interface ChangeCodec<C> {
  write(out: NoteWriter, change: C): void;
  read(from: NoteReader): Omit<C, 'kind'>;
}

/** Returns the value that a stored index stands for. */
export function pick<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new FormatError(`A stored code ${index} is unknown`);
  return value;
}
