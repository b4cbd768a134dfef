import { MillraceError } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';

/** Options of grouped calls. */
export interface GroupedCallsOptions<Item, Answer> {
  /** Name of the calls, for errors. */
  readonly operation: string;
  /** Sends items in one statement. Returns their answers in the same order. May be called again with the same items. */
  send(items: readonly Item[]): Promise<readonly Answer[]>;
  /** Items with the same key are never in one group. */
  keyOf(item: Item): string;
  /** Approximate size of an item. */
  bytesOf(item: Item): number;
}

interface Call<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  isGone: boolean;
}

/** A call in progress. */
export interface PendingCall<Answer> {
  readonly answer: Promise<Answer>;
  /** Removes the call from the queue if it is not sent yet. */
  giveUp(): void;
}

/** More items in a statement gain nothing, and all of them wait for the slowest. */
const ITEMS_MAX = 100;
/** A statement of this size is sent in the time of a round trip. A larger one delays its other items. */
const BYTES_MAX = 4 * 1024 * 1024;
/** One is written while the next one travels. More would only compete for the same rows and the same log. */
const STATEMENTS_MAX = 2;
/** About ten seconds of work. Further calls would time out anyhow. */
const WAITING_MAX = 10_000;

/**
 * Sends calls in groups: those of the same turn and those that arrive while others are in progress. A statement for a
 * hundred operations costs little more than one for a single one. An error of one item reaches only that item.
 */
export class GroupedCalls<Item, Answer> {
  readonly #options: GroupedCallsOptions<Item, Answer>;
  #waiting: Call<Item, Answer>[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #isFlushSet = false;
  #isDraining = false;

  constructor(options: GroupedCallsOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Sends a call with the next group. */
  add(item: Item): PendingCall<Answer> {
    const { promise, resolve, reject } = withResolvers<Answer>();
    const call: Call<Item, Answer> = { item, resolve, reject, isGone: false };
    if (this.#waiting.length >= WAITING_MAX) {
      reject(this.#unavailable(`${WAITING_MAX} calls wait already`));
    } else {
      this.#waiting.push(call);
      this.#setFlush();
    }
    return {
      answer: promise,
      giveUp: () => {
        call.isGone = true;
      },
    };
  }

  /** Waits for the replies of all calls. Rejects unsent ones if the database is unavailable, because a shutdown must end. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#waiting.length > 0 || this.#underWay.size > 0) {
      this.#flush();
      await Promise.all(this.#underWay);
    }
  }

  #unavailable(reason: string): Error {
    return DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: this.#options.operation, reason });
  }

  #setFlush(): void {
    if (this.#isFlushSet || this.#underWay.size >= STATEMENTS_MAX) return;
    this.#isFlushSet = true;
    // After all calls of this turn.
    setImmediate(() => {
      this.#isFlushSet = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#underWay.size < STATEMENTS_MAX) {
      const group = this.#takeGroup();
      if (group.length === 0) return;
      const sending = this.#send(group).finally(() => {
        this.#underWay.delete(sending);
        if (this.#waiting.length > 0) this.#setFlush();
      });
      this.#underWay.add(sending);
    }
  }

  #takeGroup(): Call<Item, Answer>[] {
    const { keyOf, bytesOf } = this.#options;
    const group: Call<Item, Answer>[] = [];
    const later: Call<Item, Answer>[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    let at = 0;
    for (; at < this.#waiting.length && group.length < ITEMS_MAX && bytes < BYTES_MAX; at++) {
      const call = this.#waiting[at] as Call<Item, Answer>;
      if (call.isGone) continue;
      const key = keyOf(call.item);
      if (keys.has(key)) {
        later.push(call);
        continue;
      }
      keys.add(key);
      bytes += bytesOf(call.item);
      group.push(call);
    }
    this.#waiting = [...later, ...this.#waiting.slice(at)];
    return group;
  }

  async #send(group: readonly Call<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.send(group.map(({ item }) => item));
      group.forEach(({ resolve }, at) => {
        resolve(answers[at] as Answer);
      });
    } catch (error) {
      const isPassing = error instanceof MillraceError && error.retryable;
      if (group.length === 1 || isPassing) for (const { reject } of group) reject(error);
      if (isPassing && this.#isDraining) for (const { reject } of this.#waiting.splice(0)) reject(error);
      // An item that PostgreSQL rejects must not fail the others.
      if (group.length > 1 && !isPassing) for (const call of group) await this.#send([call]);
    }
  }
}

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
