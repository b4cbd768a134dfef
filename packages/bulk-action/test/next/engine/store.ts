import type { Commit, Engine, InboxEntry } from '../../../src/next/engine/engine.js';
import { encodeChunk, type NewJob } from '../../../src/next/engine/format/chunk.js';
import type { StoredRecord } from '../../../src/next/engine/format/record.js';
import { decodeValue, type LetterFacts } from '../../../src/next/engine/format/side-values.js';
import type { ReadLetter } from '../../../src/next/engine/groups/redrive.js';
import type { Loaded } from '../../../src/next/engine/restore.js';
import type { GroupSettings } from '../../../src/next/engine/state/change.js';
import {
  CHUNK_JOBS_MAX,
  chunkAddress,
  DEFAULT_QUEUE,
  queueOf,
} from '../../../src/next/engine/state/position.js';
import type { EngineEvent } from '../../../src/next/engine/state/side-writes.js';
import { SideStore } from './side-store.js';

const SETTINGS: GroupSettings = {
  weight: 1,
  priorityLevel: 'normal',
  timeoutMs: 3_600_000,
  isOrdered: false,
  isSealable: true,
};

export const newJob = (job: Partial<NewJob> = {}): NewJob => ({
  ...{
    id: '',
    type: 'T',
    cost: 1,
    charge: undefined,
    deadlineMs: undefined,
    traceparent: undefined,
    payload: '{}',
  },
  ...job,
});

/** What a journal remembers, and nothing else: chunks, the inbox, records and notes. */
export class StoreModel {
  readonly #records = new Map<string, StoredRecord>();
  readonly #notes = new Map<number, Uint8Array>();
  readonly #chunks = new Map<string, Map<number, string>>();
  readonly #next = new Map<string, number>();
  readonly inbox: InboxEntry[] = [];
  readonly side = new SideStore();
  readonly events: EngineEvent[] = [];
  seq = 0;

  submit(
    groupId: string,
    jobs: readonly NewJob[],
    options: {
      tenantId?: string;
      settings?: Partial<GroupSettings>;
      isSealed?: boolean;
      queue?: number;
    } = {},
  ): void {
    const { tenantId = groupId.split('/')[0] ?? '', queue = DEFAULT_QUEUE, isSealed = false } = options;
    const chunks = [];
    for (let at = 0; at < jobs.length; at += CHUNK_JOBS_MAX) {
      const key = `${groupId} ${queue}`;
      const number = this.#next.get(key) ?? 0;
      this.#next.set(key, number + 1);
      const part = jobs.slice(at, at + CHUNK_JOBS_MAX);
      const address = chunkAddress(queue, number);
      this.#chunksOf(groupId).set(address, encodeChunk(part, { createdMs: 0 }));
      chunks.push({ address, jobs: part.length });
    }
    const settings = { ...SETTINGS, ...options.settings };
    this.inbox.push({ kind: 'submit', groupId, tenantId, settings, chunks, isSealed });
  }

  /** Reads the oldest letters, each with a chunk number that is set aside for it. */
  letters(most = 500, wanted: (letter: LetterFacts, groupId: string) => boolean = () => true): ReadLetter[] {
    return this.side
      .all('letter')
      .map(({ groupId, position, bytes }) => ({ groupId, position, letter: decodeValue<LetterFacts>(bytes) }))
      .filter(({ letter, groupId }) => wanted(letter.facts, groupId))
      .slice(0, most)
      .map((letter) => {
        const key = `${letter.groupId} ${queueOf(letter.position)}`;
        const number = this.#next.get(key) ?? 0;
        this.#next.set(key, number + 1);
        return { ...letter, address: chunkAddress(queueOf(letter.position), number) };
      });
  }

  /** Stores a chunk that no entry of the inbox names yet. */
  putChunk(groupId: string, address: number, text: string): void {
    this.#chunksOf(groupId).set(address, text);
  }

  #chunksOf(groupId: string): Map<number, string> {
    const chunks = this.#chunks.get(groupId) ?? new Map<number, string>();
    this.#chunks.set(groupId, chunks);
    return chunks;
  }

  /** Makes a commit durable and gives the engine the chunks that it wants. */
  write(commit: Commit, engine: Engine, nowUs: number): void {
    this.seq = commit.seq;
    this.#notes.set(commit.seq, commit.note);
    for (const record of commit.records) this.#records.set(record.key, record);
    for (const seq of this.#notes.keys()) if (seq < commit.cutSeq) this.#notes.delete(seq);
    this.side.apply(commit.writes);
    this.events.push(...commit.events);
    for (const write of commit.writes)
      if (write.kind === 'chunk') this.#chunksOf(write.groupId).set(write.address, write.text);
    for (const { groupId, address } of commit.drops) this.#chunks.get(groupId)?.delete(address);
    const found = commit.wants.map((want) => {
      const chunks = this.#chunksOf(want.group.id);
      const addresses = want.queue
        ? [...chunks.keys()]
            .filter((address) => address > want.after && address < chunkAddress(want.queue.priority + 1, 0))
            .sort((a, b) => a - b)
            .slice(0, want.chunks)
        : [want.address];
      const found = addresses.filter((address) => chunks.has(address));
      return { want, found: found.map((address) => ({ address, text: chunks.get(address) as string })) };
    });
    engine.loaded(found, nowUs);
  }

  load(): Loaded {
    const notes = [...this.#notes].sort(([a], [b]) => a - b).map(([, note]) => note);
    return { seq: this.seq, records: [...this.#records.values()], notes };
  }

  get notes(): number {
    return this.#notes.size;
  }
}
