import type { Commit, Delivery, InboxEntry } from '../../../src/next/engine/engine.js';
import { encodeChunk, type NewJob } from '../../../src/next/engine/format/chunk.js';
import type { StoredRecord } from '../../../src/next/engine/format/record.js';
import type { Loaded } from '../../../src/next/engine/restore.js';
import type { GroupSettings } from '../../../src/next/engine/state/change.js';
import { type ChunkAddress, chunkAddress, queueOfChunk } from '../../../src/next/engine/state/position.js';
import type { Want } from '../../../src/next/engine/state/state.js';

/** One call of submit. */
export interface Submission {
  readonly groupId: string;
  readonly tenantId: string;
  readonly settings: GroupSettings;
  /** Of one queue, cut as the caller likes. */
  readonly chunks: readonly (readonly NewJob[])[];
  readonly queue: number;
  readonly dueMs: number | undefined;
  readonly isSealed: boolean;
}

/** An instance as its beats describe it. */
export interface Announced {
  readonly slots: number;
  readonly types: readonly string[];
  readonly resources: { readonly [type: string]: string };
}

interface Identity {
  readonly isSealable: boolean;
  isSealed: boolean;
  /** True once a commit has told that the group has ended and opens no other round. */
  hasEnded: boolean;
}

/** Remembers what submits and commits tell it, each in one step, and nothing else. */
export class Journal {
  readonly #records = new Map<string, StoredRecord>();
  readonly #notes = new Map<number, Uint8Array>();
  readonly #numbers = new Map<string, number>();
  readonly identities = new Map<string, Identity>();
  readonly chunks = new Map<string, Map<ChunkAddress, string>>();
  readonly deliveries = new Map<string, Delivery[]>();
  readonly instances = new Map<string, Announced>();
  /** All entries. Those before `consumed` are gone. */
  readonly inbox: InboxEntry[] = [];
  consumed = 0;
  seq = 0;

  /** Stores the jobs of a call and leaves an entry. Returns the addresses of the chunks, or the refusal. */
  submit(call: Submission): readonly ChunkAddress[] | 'GROUP_SEALED' | 'GROUP_ENDED' {
    const { groupId, tenantId, settings, queue, dueMs, isSealed } = call;
    const known = this.identities.get(groupId);
    if (known?.isSealed) return 'GROUP_SEALED';
    if (known?.hasEnded) return 'GROUP_ENDED';
    const identity = known ?? { isSealable: settings.isSealable, isSealed: false, hasEnded: false };
    identity.isSealed = isSealed;
    this.identities.set(groupId, identity);
    const chunks = call.chunks.map((jobs) => {
      const key = `${groupId} ${queue}`;
      const number = this.#numbers.get(key) ?? 0;
      this.#numbers.set(key, number + 1);
      const address = chunkAddress(queue, number);
      this.chunksOf(groupId).set(address, encodeChunk(jobs, { createdMs: 0, dueMs }));
      return { address, jobs: jobs.length };
    });
    this.inbox.push({ kind: 'submit', groupId, tenantId, settings, chunks, isSealed });
    return chunks.map(({ address }) => address);
  }

  chunksOf(groupId: string): Map<ChunkAddress, string> {
    const chunks = this.chunks.get(groupId) ?? new Map<ChunkAddress, string>();
    this.chunks.set(groupId, chunks);
    return chunks;
  }

  announce(id: string, announced: Announced): void {
    this.instances.set(id, announced);
    this.inbox.push({ kind: 'instance', id, ...announced });
  }

  /** Forgets dead instances and what was to be delivered to them. */
  bury(instanceIds: readonly string[]): void {
    for (const id of instanceIds) {
      this.instances.delete(id);
      this.deliveries.delete(id);
    }
  }

  /** Makes a commit durable, with the end of the inbox that it has consumed and the instances that it has buried. */
  store(commit: Commit, consumed: number, buried: readonly string[]): void {
    if (commit.seq !== this.seq + 1) throw new Error(`Commit ${commit.seq} follows commit ${this.seq}`);
    this.seq = commit.seq;
    this.#notes.set(commit.seq, commit.note);
    for (const record of commit.records) this.#records.set(record.key, record);
    for (const seq of this.#notes.keys()) if (seq < commit.cutSeq) this.#notes.delete(seq);
    for (const { groupId, address } of commit.drops) this.chunksOf(groupId).delete(address);
    this.bury(buried);
    for (const [id, deliveries] of commit.deliveries)
      this.deliveries.set(id, [...(this.deliveries.get(id) ?? []), ...deliveries]);
    this.consumed = consumed;
  }

  /** Returns what an engine asked for. */
  read(wants: readonly Want[]) {
    return wants.map((want) => {
      const chunks = this.chunksOf(want.group.id);
      const addresses = want.queue
        ? [...chunks.keys()]
            .filter((address) => address > want.after && queueOfChunk(address) === want.queue.priority)
            .sort((a, b) => a - b)
            .slice(0, want.chunks)
        : [want.address].filter((address) => chunks.has(address));
      return { want, found: addresses.map((address) => ({ address, text: chunks.get(address) as string })) };
    });
  }

  load(): Loaded {
    const notes = [...this.#notes].sort(([a], [b]) => a - b).map(([, note]) => note);
    return { seq: this.seq, records: [...this.#records.values()], notes };
  }

  get notes(): number {
    return this.#notes.size;
  }
}
