import { MillraceError } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';

/** What goes out together. */
export interface GroupedCallsOptions<Item, Answer> {
  /** For messages. */
  readonly operation: string;
  /** Sends items in one statement; gives their answers in the same order. May be called again with the same items. */
  send(items: readonly Item[]): Promise<readonly Answer[]>;
  /** Items with the same key never go out together. */
  keyOf(item: Item): string;
  /** About how large an item is. */
  bytesOf(item: Item): number;
}

interface Call<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  isGone: boolean;
}

/** A call that is waited for, and may be given up. */
export interface PendingCall<Answer> {
  readonly answer: Promise<Answer>;
  /** Nobody waits for it any more: unless it is on its way already, it is not sent. */
  giveUp(): void;
}

/** More in one statement gain nothing, and make all of them wait for the slowest. */
const ITEMS_MAX = 100;
/** A statement of this size is sent in the time of a round trip; a larger one delays whoever shares it. */
const BYTES_MAX = 4 * 1024 * 1024;
/** One is being written while the next one travels; more only compete for the same rows and the same log. */
const STATEMENTS_MAX = 2;
/** Some ten seconds of work: what comes on top would time out anyhow. */
const WAITING_MAX = 10_000;

/**
 * Sends calls in groups: those of the same turn, and those that come while others are on their way. A statement for a hundred operations costs little
 * more than one for a single one. What PostgreSQL refuses for one item is told to that one alone.
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

  /** Has a call sent with the next group. */
  add(item: Item): PendingCall<Answer> {
    const { promise, resolve, reject } = withResolvers<Answer>();
    const call: Call<Item, Answer> = { item, resolve, reject, isGone: false };
    if (this.#waiting.length >= WAITING_MAX) {
      reject(this.#unavailable(`${WAITING_MAX} calls are waiting already`));
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

  /** Waits until everything has been sent and answered. With a database that is away it gives up what has not been sent: a shutdown must end. */
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
    // After all that has arrived in this turn.
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
      // One that PostgreSQL refuses must not take the others with it.
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
