const FIRST_BLOCK_LENGTH = 16;
const BLOCK_LENGTH_MAX = 2048;

interface Block<V> {
  readonly slots: (V | undefined)[];
  next: Block<V> | undefined;
}

const newBlock = <V>(length: number): Block<V> => ({ slots: new Array(length), next: undefined });

/**
 * First in, first out, in constant time at any length: a chain of blocks, as in Node's own task queues. A ring buffer
 * that doubles would copy a million slots within one `push`; a linked list would allocate a node for each.
 */
export class Fifo<V extends object> {
  // Small at first and doubled from block to block: most queues stay short, and making one must stay cheap.
  #head: Block<V> = newBlock(FIRST_BLOCK_LENGTH);
  #tail = this.#head;
  #readAt = 0;
  #writeAt = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: V): void {
    const { length } = this.#tail.slots;
    if (this.#writeAt === length) {
      this.#tail.next = newBlock(Math.min(2 * length, BLOCK_LENGTH_MAX));
      this.#tail = this.#tail.next;
      this.#writeAt = 0;
    }
    this.#tail.slots[this.#writeAt++] = value;
    this.#length++;
  }

  /** The oldest value, or undefined when there is none. */
  shift(): V | undefined {
    if (this.#length === 0) return undefined;
    const { slots } = this.#head;
    const value = slots[this.#readAt];
    // What has been taken must not be kept alive.
    slots[this.#readAt++] = undefined;
    if (--this.#length === 0) {
      // Back to the start of the one block left: a queue that is mostly empty never allocates again.
      this.#readAt = this.#writeAt = 0;
    } else if (this.#readAt === slots.length) {
      this.#head = this.#head.next as Block<V>;
      this.#readAt = 0;
    }
    return value;
  }
}
