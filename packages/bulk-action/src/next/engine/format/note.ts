import type { Change } from '../state/change.js';
import type { EngineState } from '../state/state.js';
import { ByteReader, type ByteWriter } from './bytes.js';
import { GROUP_CHANGES } from './group-changes.js';
import { JOB_CHANGES } from './job-changes.js';
import { KEPT_CHANGES } from './kept.js';
import { type ChangeCodec, NoteReader, NoteWriter, pick } from './note-stream.js';
import { NOTICE_CHANGES } from './notice-changes.js';

const NOTE_VERSION = 1;

const CODECS: { readonly [K in Change['kind']]: ChangeCodec<Extract<Change, { kind: K }>> } = {
  ...JOB_CHANGES,
  ...GROUP_CHANGES,
  ...NOTICE_CHANGES,
  ...KEPT_CHANGES,
};
const KINDS = Object.keys(CODECS) as Change['kind'][];
/** The codec of the same kind as the change. */
const codecOf = (kind: Change['kind']): ChangeCodec<Change> => CODECS[kind] as ChangeCodec<never>;

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
  const out = new NoteWriter(bytes, head.atUs);
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
  const from = new NoteReader(bytes, state, head.atUs);
  while (!bytes.isAtEnd) {
    const kind = pick(KINDS, bytes.byte());
    apply({ kind, ...codecOf(kind).read(from) } as Change, head);
  }
  return head;
}
