import { type Linked, LinkedList } from '@millrace/foundation';

/** A slot, or a position in the queue for one. */
export interface Place {
  /** True if it has its slot. */
  readonly hasSlot: boolean;
  /** Resolves when it has its slot. Never resolves if it left the queue before. */
  readonly slot: Promise<void>;
}

class QueuePlace implements Place, Linked<QueuePlace> {
  hasSlot = false;
  previous: QueuePlace | undefined;
  next: QueuePlace | undefined;
  readonly slot: Promise<void>;
  #resolve: () => void = () => {};

  constructor() {
    this.slot = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  giveSlot(): void {
    this.hasSlot = true;
    this.#resolve();
  }
}

/** Slots for a bounded number of calls, and a bounded queue for them, first come first served. */
export class Bulkhead {
  readonly #concurrency: number;
  readonly #queueMax: number;
  #slotsTaken = 0;
  readonly #queue = new LinkedList<QueuePlace>();

  constructor({ concurrency, queueMax }: { readonly concurrency: number; readonly queueMax: number }) {
    this.#concurrency = concurrency;
    this.#queueMax = queueMax;
  }

  /** Number of slots taken, whether or not their work has begun. */
  get slotsTaken(): number {
    return this.#slotsTaken;
  }

  /** Number of calls that wait for a slot. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Reports whether all slots are taken and the queue is full. */
  get isFull(): boolean {
    return this.#slotsTaken >= this.#concurrency && this.#queue.size >= this.#queueMax;
  }

  /** Takes a slot, or a position in the queue. Check `isFull` first. */
  take(): Place {
    const place = new QueuePlace();
    if (this.#slotsTaken < this.#concurrency) {
      this.#slotsTaken += 1;
      place.giveSlot();
    } else this.#queue.push(place);
    return place;
  }

  /**
   * Releases a place. Call it once. Its slot is handed to the first in the queue: a free slot could go to a newcomer.
   * @param place - of `take`.
   */
  leave(place: Place): void {
    if (this.#queue.remove(place as QueuePlace)) return;
    const next = this.#queue.shift();
    if (next) next.giveSlot();
    else this.#slotsTaken -= 1;
  }
}
