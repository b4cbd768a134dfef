import type { GroupStatus } from '../../../states.js';
import type { ChunkAddress, Position } from './position.js';

/** Something that a commit writes beside its note. All of them are absolute: writing one again changes nothing. */
export type SideWrite =
  /** A group's results are read in the order of their numbers. */
  | {
      readonly kind: 'result';
      readonly groupId: string;
      readonly number: number;
      readonly round: number;
      readonly bytes: Uint8Array;
    }
  /** A failed job of the rounds `from` to `to`; without `to` also of all later ones. */
  | {
      readonly kind: 'detail';
      readonly groupId: string;
      readonly position: Position;
      readonly from: number;
      readonly to: number | undefined;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'detail-gone'; readonly groupId: string; readonly position: Position }
  /** One of the last attempts of a job: a later one takes the slot of an earlier one. */
  | {
      readonly kind: 'attempt';
      readonly groupId: string;
      readonly position: Position;
      readonly slot: number;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'letter';
      readonly groupId: string;
      readonly position: Position;
      readonly tenantId: string;
      readonly signature: string;
      readonly failedMs: number;
      readonly bytes: Uint8Array;
    }
  /** Written after everything else of the commit, also after its seq: a part of the commit alone must not destroy a letter. */
  | { readonly kind: 'letter-gone'; readonly groupId: string; readonly position: Position }
  /** The journal deletes the oldest letters beyond `keep`, and reports how many went of which group. */
  | { readonly kind: 'letters-max'; readonly keep: number; readonly excess: number }
  | {
      readonly kind: 'line';
      readonly groupId: string;
      readonly address: ChunkAddress;
      readonly bytes: Uint8Array;
    }
  /** The journal keeps the newest `keep` by key. */
  | { readonly kind: 'recent'; readonly key: number; readonly keep: number; readonly bytes: Uint8Array }
  /** What belongs to rounds below `keepFrom` goes. */
  | {
      readonly kind: 'round';
      readonly groupId: string;
      readonly round: number;
      readonly keepFrom: number;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'chunk';
      readonly groupId: string;
      readonly address: ChunkAddress;
      readonly text: string;
    }
  | { readonly kind: 'id'; readonly groupId: string; readonly id: string; readonly position: Position };

/** Maximum size of the side writes of a commit. */
const BYTES_MAX = 4 * 2 ** 20;
/** Key and envelope of a write. */
const BYTES_BESIDE = 100;

/** The side writes of the next commit. */
export class SideWrites {
  list: SideWrite[] = [];
  #bytes = 0;

  /** Reports whether a step that may write so many bytes fits. One that is too large for any commit goes alone. */
  fits(bytes: number): boolean {
    return this.list.length === 0 || this.#bytes + bytes <= BYTES_MAX;
  }

  add(write: SideWrite): void {
    const { bytes, text } = write as { readonly bytes?: Uint8Array; readonly text?: string };
    this.#bytes += BYTES_BESIDE + (bytes?.length ?? 0) + (text === undefined ? 0 : Buffer.byteLength(text));
    this.list.push(write);
  }

  /** Takes all of them for a commit. */
  take(): readonly SideWrite[] {
    const { list } = this;
    this.list = [];
    this.#bytes = 0;
    return list;
  }
}

/** An event for subscribers, sent after the commit. Events are hints: one may be lost or doubled, and the state is the truth. */
export interface EngineEvent {
  readonly type:
    | 'group.started'
    | 'group.progress'
    | 'group.completed'
    | 'group.failed'
    | 'group.cancelled'
    | 'job.dead';
  readonly groupId: string;
  readonly tenant: string;
  readonly round: number;
  readonly status: GroupStatus;
  /** Only of `job.dead`. */
  readonly jobId?: string | undefined;
  readonly atMs: number;
}
