import type { Change } from '../state/change.js';
import type { EngineState } from '../state/state.js';
import { ByteReader, type ByteWriter } from './bytes.js';
import { CHANGES, type ChangeCodec } from './changes.js';
import { pick, Sink, Source } from './codec.js';

const NOTE_VERSION = 1;

const KINDS = Object.keys(CHANGES) as Change['kind'][];
/** The codec of the same kind as the change. */
const codecOf = (kind: Change['kind']): ChangeCodec<Change> => CHANGES[kind] as ChangeCodec<never>;

/** The commit of a note. */
export interface NoteHead {
  readonly seq: number;
  readonly atUs: number;
  /** Epoch of the fair order at its beginning. */
  readonly epoch: number;
}

/** Writes the changes of one commit. */
export function encodeNote(bytes: ByteWriter, head: NoteHead, changes: readonly Change[]): Uint8Array {
  bytes.begin(NOTE_VERSION);
  bytes.count(head.seq);
  bytes.count(head.atUs);
  bytes.count(head.epoch);
  const out = new Sink(bytes, head);
  for (const change of changes) {
    bytes.byte(KINDS.indexOf(change.kind));
    codecOf(change.kind).write(out, change);
  }
  return bytes.finish();
}

/**
 * Reads a note and passes its changes on one by one: later ones name records that earlier ones add.
 * @throws FormatError if the note is damaged.
 */
export function readNote(
  note: Uint8Array,
  state: EngineState,
  apply: (change: Change, head: NoteHead) => void,
): NoteHead {
  const bytes = new ByteReader(note, NOTE_VERSION);
  const head = { seq: bytes.count(), atUs: bytes.count(), epoch: bytes.count() };
  const from = new Source(bytes, state, head.atUs);
  while (!bytes.isAtEnd) {
    const kind = pick(KINDS, bytes.byte());
    apply({ kind, ...codecOf(kind).read(from) } as Change, head);
  }
  return head;
}
