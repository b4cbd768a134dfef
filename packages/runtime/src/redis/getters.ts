import type { MillraceError } from '@millrace/foundation';
import type { RedisConnection } from '@millrace/redis';
import type { QueueItem } from '../model.js';
import { decodeEntry } from './payload.js';
import { type Pause, Pump } from './pump.js';
import type { QueueStore, TakeAnswer, TakenEntry, Verdict } from './store.js';
import { type Caller, WaiterQueue, type WaitLimits } from './waiter-queue.js';

/** What the getting side needs. */
export interface GettersOptions {
  readonly name: string;
  readonly store: QueueStore;
  readonly connection: RedisConnection;
  onClosed(): void;
}

interface Held<T> extends TakenEntry {
  /** Undefined when the entry cannot be read. */
  readonly item: QueueItem<T> | undefined;
}

const TAKE_MAX = 100;
const GIVE_BACK_RETRY_MS = 100;

/**
 * The getting side of one client, one exchange at a time:
 *
 * ```
 *   waiting ──take──▶ held (leased to us) ──confirm──▶ delivered to the callers, first come, first served
 *                       │ no caller is left               │ they gave up during the confirm
 *                       └──── returned by the confirm      └──▶ surplus ──▶ the next caller, or give-back
 * ```
 * Nothing is delivered before the reply to the confirm, and every step is repeated until there is one: an item is
 * delivered once, or it is back in the queue.
 */
export class Getters<T> {
  readonly #options: GettersOptions;
  readonly #waiting: WaiterQueue<QueueItem<T> | null>;
  readonly #pump: Pump;
  #sequence = 0;
  /** A take whose answer is not known. */
  #takeSequence: number | undefined;
  #held: { readonly sequence: number; readonly entries: readonly Held<T>[] } | undefined;
  #surplus: Held<T>[] = [];
  /** A give-back whose answer is not known: what is in it must not be delivered here. */
  #returning: { readonly sequence: number; readonly entries: readonly Held<T>[] } | undefined;
  #present: readonly Caller<QueueItem<T> | null, undefined>[] = [];

  constructor(options: GettersOptions) {
    this.#options = options;
    const { clock, rng, callTimeoutMs } = options.connection.options;
    this.#waiting = new WaiterQueue({ clock, callTimeoutMs, onTimeout: (caller) => caller.resolve(null) });
    this.#pump = new Pump({
      clock,
      rng,
      markers: options.connection.markers,
      hasWork: () =>
        this.#waiting.size > 0 ||
        this.#takeSequence !== undefined ||
        this.#held !== undefined ||
        this.#returning !== undefined ||
        this.#surplus.length > 0,
      step: () => this.#step(),
      onFailure: (error) => this.#failed(error),
    });
  }

  /** Waits for the next item behind all other callers. */
  get(limits: WaitLimits): Promise<QueueItem<T> | null> {
    const item = this.#waiting.join(undefined, limits);
    this.#pump.poke();
    return item;
  }

  /** Resolves every waiting caller with null. */
  endAll(): void {
    for (const caller of this.#waiting.all()) this.#waiting.settle(caller, null);
    this.#pump.poke();
  }

  /** Resolves when no item of the queue is held here. */
  idle(): Promise<void> {
    return this.#pump.idle();
  }

  async #step(): Promise<Pause | undefined> {
    if (this.#held) return this.#confirm(this.#held);
    if (this.#returning) return this.#giveBack(this.#returning);
    this.#deliver();
    if (this.#surplus.length > 0) {
      this.#returning = { sequence: ++this.#sequence, entries: this.#surplus.splice(0, TAKE_MAX) };
      return this.#giveBack(this.#returning);
    }
    if (this.#waiting.size === 0 && this.#takeSequence === undefined) return undefined;
    return this.#take();
  }

  async #take(): Promise<Pause | undefined> {
    const { store } = this.#options;
    this.#takeSequence ??= ++this.#sequence;
    const sequence = this.#takeSequence;
    this.#present = this.#waiting.all();
    const count = Math.min(Math.max(1, this.#waiting.size), TAKE_MAX);
    const answer = await store.take(sequence, count);
    this.#takeSequence = undefined;
    if (answer.kind !== 'taken') return this.#nothing(answer);
    if (answer.entries.length === 0) return undefined; // A repeat that came after the lease: all of it is back.
    const entries = answer.entries.map((taken) => ({ ...taken, item: decodeEntry<T>(taken.entry) }));
    this.#held = { sequence, entries };
    return this.#confirm(this.#held);
  }

  #nothing(answer: Exclude<TakeAnswer, { kind: 'taken' }>): Pause | undefined {
    if (answer.kind === 'drained' || answer.closed) this.#options.onClosed();
    if (answer.kind === 'drained') {
      for (const caller of this.#waiting.all()) this.#waiting.settle(caller, null);
      return undefined;
    }
    this.#waiting.answer(this.#present.filter((caller) => this.#waiting.has(caller)));
    return { marker: this.#options.store.key('wake'), ms: answer.nextInMs ?? Infinity };
  }

  async #confirm({
    sequence,
    entries,
  }: {
    sequence: number;
    entries: readonly Held<T>[];
  }): Promise<undefined> {
    const { store, connection, name } = this.#options;
    let wanted = this.#waiting.size;
    const verdicts = entries.map(({ id, item }): { id: string; verdict: Verdict } => ({
      id,
      verdict: !item ? 'c' : wanted-- > 0 ? 'k' : 'r',
    }));
    const letters = await store.confirm(sequence, verdicts);
    this.#held = undefined;
    for (const [at, held] of entries.entries()) {
      if (letters[at] === 'k') this.#surplus.push(held);
      if (letters[at] !== 'c') continue;
      connection.options.logger.error(
        { queue: name, key: store.key('corrupt'), entry: held.entry.slice(0, 200) },
        'an entry of the queue could not be read and was set aside',
      );
    }
    this.#deliver();
    return undefined;
  }

  #deliver(): void {
    while (this.#surplus.length > 0) {
      const caller = this.#waiting.first();
      if (!caller) return;
      const { item } = this.#surplus.shift() as Held<T>;
      this.#waiting.settle(caller, item ?? null);
    }
  }

  async #giveBack({
    sequence,
    entries,
  }: {
    sequence: number;
    entries: readonly Held<T>[];
  }): Promise<Pause | undefined> {
    const { store } = this.#options;
    const returned = await store.giveBack(
      sequence,
      entries.map(({ entry }) => entry),
    );
    this.#returning = undefined;
    this.#surplus.unshift(...entries.slice(returned));
    return returned > 0 ? undefined : { marker: store.key('room'), ms: GIVE_BACK_RETRY_MS };
  }

  #failed(error: unknown): void {
    if ((error as MillraceError).retryable === true) {
      this.#waiting.fail(this.#present, error);
      return;
    }
    // Stopped, or a newer layout: what is held returns by its lease, and nothing more can be done from here.
    this.#takeSequence = undefined;
    this.#held = undefined;
    this.#returning = undefined;
    this.#surplus = [];
    for (const caller of this.#waiting.all()) this.#waiting.refuse(caller, error);
  }
}
