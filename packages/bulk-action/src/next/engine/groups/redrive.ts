import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { refresh } from '../fair/order.js';
import { encodeChunk, type NewJob } from '../format/chunk.js';
import { type DetailFacts, encodeValue, type LetterFacts, type StoredValue } from '../format/side-values.js';
import { resumeRound } from '../run/aggregate.js';
import { beginRound } from '../run/end.js';
import { watchGroup } from '../run/watch.js';
import {
  CHUNK_JOBS_MAX,
  type ChunkAddress,
  firstPosition,
  type Position,
  queueOf,
} from '../state/position.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** A letter that the journal has read. */
export interface ReadLetter {
  readonly groupId: string;
  readonly position: Position;
  readonly letter: StoredValue<LetterFacts>;
  /** A free chunk of its queue, which the journal has set aside for it. Chunks that stay unused are gaps. */
  readonly address: ChunkAddress;
}

/** Dead letters to be queued again. */
export interface Redrive {
  /** Oldest first. */
  readonly letters: readonly ReadLetter[];
  /** New deadline of their groups and jobs. */
  readonly deadlineMs?: number | undefined;
  /** True to take deadlines away that have passed. */
  readonly ignoresDeadline?: boolean | undefined;
  /** JSON: the payload of the only letter. */
  readonly payload?: string | undefined;
  /** True if the journal has more letters that match. */
  readonly hasMore?: boolean | undefined;
}

/** DEADLINE_EXCEEDED: the deadline of the group or job has passed. GROUP_NOT_FOUND: the group is not known any more. */
type RedriveRefusal = 'DEADLINE_EXCEEDED' | 'GROUP_NOT_FOUND' | 'CORRUPTED';

/** What came of a redrive. Letters that were refused are still there. */
export interface RedriveAnswer {
  readonly moved: number;
  readonly refused: readonly {
    readonly groupId: string;
    readonly code: RedriveRefusal;
    readonly letters: number;
  }[];
  /** True if the caller has to repeat the call for the rest. */
  readonly more: boolean;
}

const LETTERS_MAX = 500;
const BYTES_MAX = 2 ** 20;
const CHUNK_BYTES_MAX = 64 * 1024;
/** Letters redriven lately that a reader may still have seen. */
const REMEMBERED_MAX = 10 * LETTERS_MAX;

/**
 * Queues jobs of dead letters again. New chunks and the removal of the letters are side writes of one commit, so a letter is either
 * there or its job is queued. All letters of a call and a group are in one round. A step takes at most 500 letters or 1 MiB.
 */
export function redriveLetters(state: EngineState, redrive: Redrive): RedriveAnswer {
  const taken = takeStep(state, redrive);
  const refused = new Map<string, { groupId: string; code: RedriveRefusal; letters: number }>();
  const byGroup = new Map<Group, ReadLetter[]>();
  for (const letter of taken) {
    const group = state.groups.get(letter.groupId);
    const code = group ? refusalOf(state, group, letter, redrive) : 'GROUP_NOT_FOUND';
    if (!group || code) {
      const key = `${letter.groupId} ${code}`;
      const entry = refused.get(key) ?? { groupId: letter.groupId, code: code as RedriveRefusal, letters: 0 };
      entry.letters += 1;
      refused.set(key, entry);
      continue;
    }
    const letters = byGroup.get(group);
    if (letters) letters.push(letter);
    else byGroup.set(group, [letter]);
  }
  let moved = 0;
  for (const [group, letters] of byGroup) moved += redriveGroup(state, group, letters, redrive);
  const more = redrive.hasMore === true || taken.length < redrive.letters.length;
  return { moved, refused: [...refused.values()], more };
}

/** Returns the letters of this step, or none if the next commit has no room for them. */
function takeStep(state: EngineState, { letters, payload }: Redrive): readonly ReadLetter[] {
  let bytes = 0;
  let count = 0;
  for (const { letter } of letters) {
    bytes += Buffer.byteLength(payload ?? letter.payload ?? '');
    if (count > 0 && (count === LETTERS_MAX || bytes > BYTES_MAX)) break;
    count += 1;
  }
  return state.writes.fits(Math.min(bytes, BYTES_MAX) + count * BYTES_PER_LETTER)
    ? letters.slice(0, count)
    : [];
}

/** Side writes of a letter besides its body: its chunk's line, its id, its details, its removal. */
const BYTES_PER_LETTER = 1_500;

function refusalOf(
  { nowMs }: EngineState,
  group: Group,
  { letter }: ReadLetter,
  { deadlineMs, ignoresDeadline, payload }: Redrive,
): RedriveRefusal | undefined {
  if ((payload ?? letter.payload) === undefined) return 'CORRUPTED';
  if (ignoresDeadline) return undefined;
  const ownMs = Math.min(group.deadlineMs ?? Infinity, letter.facts.deadlineMs ?? Infinity);
  return (deadlineMs ?? ownMs) <= nowMs ? 'DEADLINE_EXCEEDED' : undefined;
}

function redriveGroup(
  state: EngineState,
  group: Group,
  letters: readonly ReadLetter[],
  redrive: Redrive,
): number {
  const fresh = letters.filter(({ position }) => remember(state, `${group.number}:${position}`));
  if (fresh.length === 0) return 0;
  openForLetters(state, group, redrive);
  for (const part of chunksOf(fresh, redrive)) writeChunk(state, group, part, redrive);
  refresh(state, group);
  watchGroup(state, group);
  return fresh.length;
}

/** Returns false if the letter was redriven a moment ago. */
function remember({ redriven }: EngineState, key: string): boolean {
  if (redriven.has(key)) return false;
  redriven.add(key);
  if (redriven.size > REMEMBERED_MAX) for (const oldest of redriven.keys()) return redriven.delete(oldest);
  return true;
}

/** An ended group begins its next round. A passed deadline of it goes, or is replaced. */
function openForLetters(state: EngineState, group: Group, { deadlineMs, ignoresDeadline }: Redrive): void {
  const isPassed = (group.deadlineMs ?? Infinity) <= state.nowMs;
  if (deadlineMs !== undefined || (ignoresDeadline && isPassed)) {
    const { priorityLevel, timeoutMs, tenant } = group;
    const virtual = tenant.free.clock.stored;
    decide(state, { kind: 'settings', group, priorityLevel, timeoutMs, deadlineMs, virtual });
  }
  resumeRound(state, group);
  if (!hasEnded(group.status)) return;
  if (group.isSealable) decide(state, { kind: 'reopened', group, atUs: state.nowUs });
  else beginRound(state, group);
}

/** Divides letters into chunks: jobs of one queue that were submitted at one time. */
function chunksOf(letters: readonly ReadLetter[], { payload }: Redrive): ReadLetter[][] {
  const parts: ReadLetter[][] = [];
  let bytes = 0;
  for (const letter of letters) {
    const part = parts.at(-1);
    const first = part?.[0];
    bytes += (payload ?? letter.letter.payload ?? '').length;
    const isSame =
      first !== undefined &&
      queueOf(first.position) === queueOf(letter.position) &&
      first.letter.facts.createdMs === letter.letter.facts.createdMs;
    if (part && isSame && part.length < CHUNK_JOBS_MAX && bytes <= CHUNK_BYTES_MAX) part.push(letter);
    else {
      parts.push([letter]);
      bytes = (payload ?? letter.letter.payload ?? '').length;
    }
  }
  return parts;
}

function writeChunk(
  state: EngineState,
  group: Group,
  letters: readonly ReadLetter[],
  redrive: Redrive,
): void {
  const { writes } = state;
  const { id: groupId } = group;
  const [{ address, letter }] = letters as [ReadLetter];
  const jobs = letters.map((each) => jobOf(state, each, redrive));
  const { createdMs } = letter.facts;
  countRedriven(state, group, letters);
  writes.add({ kind: 'chunk', groupId, address, text: encodeChunk(jobs, { createdMs }) });
  letters.forEach(({ position, letter: { facts } }, index) => {
    writes.add({ kind: 'id', groupId, id: facts.jobId, position: firstPosition(address) + index });
    writes.add({ kind: 'letter-gone', groupId, position });
    if (facts.isDetailed) endDetail(state, group, position, facts);
  });
}

/** A changed payload and a new deadline apply to the job as well. */
function jobOf({ nowMs }: EngineState, { letter: { facts, payload } }: ReadLetter, redrive: Redrive): NewJob {
  const { jobId: id, type, cost, charge, traceparent } = facts;
  const isPassed = (facts.deadlineMs ?? Infinity) <= nowMs;
  const deadlineMs = isPassed ? redrive.deadlineMs : facts.deadlineMs;
  return { id, type, cost, charge, deadlineMs, traceparent, payload: redrive.payload ?? payload ?? 'null' };
}

/** What the round counts of a job is counted no more: it is pending again. A round of an open group does not know earlier ones. */
function countRedriven(state: EngineState, group: Group, letters: readonly ReadLetter[]): void {
  const codes = new Map<string, number>();
  let [failed, cancelled, details] = [0, 0, 0];
  for (const { facts } of letters.map(({ letter }) => letter)) {
    if (!group.isSealable && facts.round !== group.round) continue;
    if (facts.isDetailed) details += 1;
    if (facts.countedAs === 'cancelled') cancelled += 1;
    else {
      failed += 1;
      codes.set(facts.code, (codes.get(facts.code) ?? 0) + 1);
    }
  }
  const [{ address }] = letters as [ReadLetter];
  const added = letters.length - failed - cancelled;
  const counts = { failed, cancelled, added, details, codes: [...codes] };
  decide(state, { kind: 'redriven', group, address, atUs: state.nowUs, ...counts });
}

/** A redriven job is no failed job of this round any more. It stays one of the rounds that ended with it. */
function endDetail({ writes }: EngineState, group: Group, position: Position, letter: LetterFacts): void {
  if (!group.isSealable) return;
  const { id: groupId, round } = group;
  const { jobId, code, message, round: from } = letter;
  if (from === round) {
    writes.add({ kind: 'detail-gone', groupId, position });
    return;
  }
  const facts: DetailFacts = { jobId, code, message };
  writes.add({ kind: 'detail', groupId, position, from, to: round - 1, bytes: encodeValue({ facts }) });
}

/** The journal has deleted letters: purged, past their retention, or the oldest beyond `deadLettersMax`. */
export interface LettersDeleted {
  readonly kind: 'letters-deleted';
  readonly letters: readonly { readonly groupId: string; readonly count: number }[];
}

/** Counts letters that are gone no more. */
export function forgetDeleted(state: EngineState, { letters }: LettersDeleted): void {
  for (const { groupId, count } of letters)
    decide(state, { kind: 'letters-gone', group: state.groups.get(groupId), letters: count });
}
