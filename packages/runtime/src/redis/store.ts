import {
  ERRORS,
  type KeySpace,
  keySpace,
  type LoadedScripts,
  loadScripts,
  type ScriptRunner,
} from '@millrace/redis';
import { QUEUE_SCRIPTS } from './scripts.js';

/** The scripts of the queue, read from their files. */
export type QueueScripts = LoadedScripts<typeof QUEUE_SCRIPTS>;

const SCRIPTS: QueueScripts = loadScripts(QUEUE_SCRIPTS);

/** The layout of the keys that this release writes; a process refuses a higher one. Fields may be added within one. */
const QUEUE_LAYOUT = 1;

/**
 * How long Redis remembers what a client did last, so that a repeat is recognised: far longer than any call deadline,
 * and long enough for a Redis that was frozen.
 */
const CLIENT_TTL_MS = 600_000;

const KEY_NAMES = ['items', 'taken', 'leases', 'meta', 'wake', 'room', 'corrupt'] as const;
type KeyName = (typeof KEY_NAMES)[number];

/** What a store needs to know of its queue. */
export interface QueueStoreOptions {
  readonly keyPrefix: string;
  readonly name: string;
  readonly maxSize: number;
  readonly takeLeaseMs: number;
  /** Unique in the queue. */
  readonly clientId: string;
}

/** One item on its way: taken, not yet confirmed. */
export interface TakenEntry {
  readonly id: string;
  readonly entry: string;
}

/** What to do with a taken item: keep it for delivery, return it to the head, set it aside as corrupt. */
export type Verdict = 'k' | 'r' | 'c';

/** The answer to a put. */
export type PutAnswer =
  | { readonly kind: 'put'; readonly accepted: number; readonly createdAt: Date }
  | { readonly kind: 'full'; readonly size: number }
  | { readonly kind: 'closed' };

/** The answer to a take; `nextInMs` is when an item on its way to somebody else may come back. */
export type TakeAnswer =
  | { readonly kind: 'taken'; readonly entries: readonly TakenEntry[] }
  | { readonly kind: 'empty'; readonly nextInMs: number | undefined; readonly closed: boolean }
  | { readonly kind: 'drained' };

/**
 * The verbs of one queue for one client, each one script. Every verb carries a sequence number and may be repeated
 * with it as often as its reply gets lost; the client makes one call of a kind at a time.
 */
export class QueueStore {
  readonly key: KeySpace;
  readonly #runner: ScriptRunner;
  readonly #scripts: QueueScripts;
  readonly #options: QueueStoreOptions;
  readonly #keys: Readonly<Record<KeyName | 'client', string>>;

  /** @param scripts - the scripts; tests load them with another `now`. */
  constructor(runner: ScriptRunner, options: QueueStoreOptions, scripts: QueueScripts = SCRIPTS) {
    this.#runner = runner;
    this.#scripts = scripts;
    this.#options = options;
    this.key = keySpace(options.keyPrefix, 'queue', options.name);
    const named = KEY_NAMES.map((name) => [name, this.key(name)] as const);
    this.#keys = {
      ...(Object.fromEntries(named) as Record<KeyName, string>),
      client: this.key('client', options.clientId),
    };
  }

  /** Appends entries as far as there is room. */
  async put(sequence: number, entries: readonly { id: string; json: string }[]): Promise<PutAnswer> {
    const { maxSize } = this.#options;
    const [word, first, second] = await this.#scripts.put.run(this.#runner, {
      keys: this.#keys,
      args: {
        layout: QUEUE_LAYOUT,
        maxSize,
        clientTtlMs: CLIENT_TTL_MS,
        sequence,
        idsAndPayloads: entries.flatMap(({ id, json }) => [id, json]),
      },
    });
    if (word === 'put') return { kind: 'put', accepted: Number(first), createdAt: new Date(Number(second)) };
    if (word === 'full') return { kind: 'full', size: Number(first) };
    if (word === 'closed') return { kind: 'closed' };
    throw this.#refusal(word, first);
  }

  /** Takes up to `count` items under a lease. */
  async take(sequence: number, count: number): Promise<TakeAnswer> {
    const { takeLeaseMs } = this.#options;
    const [word, ...values] = await this.#scripts.take.run(this.#runner, {
      keys: this.#keys,
      args: {
        layout: QUEUE_LAYOUT,
        leaseMs: takeLeaseMs,
        clientTtlMs: CLIENT_TTL_MS,
        owner: this.#owner(sequence),
        sequence,
        count,
      },
    });
    if (word === 'taken') return { kind: 'taken', entries: inPairs(values) };
    if (word === 'drained') return { kind: 'drained' };
    if (word !== 'empty') throw this.#refusal(word, values[0]);
    const [nextInMs, closed] = values.map(Number);
    return { kind: 'empty', nextInMs: nextInMs === -1 ? undefined : nextInMs, closed: closed === 1 };
  }

  /** Settles what was taken with this sequence number; gives one letter per item, `l` for what was lost meanwhile. */
  confirm(sequence: number, verdicts: readonly { id: string; verdict: Verdict }[]): Promise<string> {
    return this.#scripts.confirm.run(this.#runner, {
      keys: this.#keys,
      args: {
        maxSize: this.#options.maxSize,
        clientTtlMs: CLIENT_TTL_MS,
        owner: this.#owner(sequence),
        sequence,
        idsAndVerdicts: verdicts.flatMap(({ id, verdict }) => [id, verdict]),
      },
    });
  }

  /** Returns kept items to the head, oldest first; gives how many there was room for. */
  giveBack(sequence: number, entries: readonly string[]): Promise<number> {
    return this.#scripts.giveBack.run(this.#runner, {
      keys: this.#keys,
      args: { maxSize: this.#options.maxSize, clientTtlMs: CLIENT_TTL_MS, sequence, entries },
    });
  }

  /** Closes the queue for everybody. */
  async close(): Promise<void> {
    const [word, found] = await this.#scripts.close.run(this.#runner, {
      keys: this.#keys,
      args: { layout: QUEUE_LAYOUT },
    });
    if (word !== 'closed') throw this.#refusal(word, found);
  }

  /** How many items wait, and whether the queue is closed. */
  async size(): Promise<{ readonly waiting: number; readonly closed: boolean }> {
    const [word, first, closed] = await this.#scripts.size.run(this.#runner, {
      keys: this.#keys,
      args: { layout: QUEUE_LAYOUT },
    });
    if (word !== 'size') throw this.#refusal(word, first);
    return { waiting: Number(first), closed: closed === 1 };
  }

  #owner(sequence: number): string {
    return `${this.#options.clientId}:${sequence}`;
  }

  #refusal(word: string, found: unknown): Error {
    const store = `the queue ${this.#options.name}`;
    if (word === 'layout') return ERRORS.create('REDIS_LAYOUT_NEWER', { store, found, known: QUEUE_LAYOUT });
    // Only an old copy of a call that somebody has given up can get it, and nobody reads that.
    return ERRORS.create('REDIS_SCRIPT_FAILED', {
      script: store,
      reason: `the call is out of date (${word})`,
    });
  }
}

function inPairs(values: readonly (string | number)[]): TakenEntry[] {
  const pairs: TakenEntry[] = [];
  for (let at = 0; at < values.length; at += 2) {
    pairs.push({ id: String(values[at]), entry: String(values[at + 1]) });
  }
  return pairs;
}
