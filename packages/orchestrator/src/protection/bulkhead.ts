/** A place in a bulkhead: a slot, or a place in the line for one. */
export interface Place {
  /** Whether it has its slot. */
  readonly hasSlot: boolean;
  /** Resolves when it has; for ever pending when it left the line before. */
  readonly slot: Promise<void>;
}

class LinePlace implements Place {
  hasSlot = false;
  readonly slot: Promise<void>;
  #resolve: () => void = () => {};

  constructor(hasSlot: boolean) {
    this.slot = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (hasSlot) this.giveSlot();
  }

  giveSlot(): void {
    this.hasSlot = true;
    this.#resolve();
  }
}

/** Slots for a bounded number of calls, and a bounded line before them, first come first served. */
export class Bulkhead {
  readonly #concurrency: number;
  readonly #queueMax: number;
  #slotsTaken = 0;
  /** A set keeps the order of arrival, and lets whoever gives up leave from anywhere. */
  readonly #line = new Set<LinePlace>();

  constructor({ concurrency, queueMax }: { readonly concurrency: number; readonly queueMax: number }) {
    this.#concurrency = concurrency;
    this.#queueMax = queueMax;
  }

  /** Slots that are taken, whether or not their work has begun. */
  get slotsTaken(): number {
    return this.#slotsTaken;
  }

  /** How many wait for a slot. */
  get queued(): number {
    return this.#line.size;
  }

  /** Whether there is no slot and no place in the line. */
  get isFull(): boolean {
    return this.#slotsTaken >= this.#concurrency && this.#line.size >= this.#queueMax;
  }

  /** Takes a place; ask `isFull` before. */
  take(): Place {
    const place = new LinePlace(this.#slotsTaken < this.#concurrency);
    if (place.hasSlot) this.#slotsTaken += 1;
    else this.#line.add(place);
    return place;
  }

  /**
   * Gives a place back, once. Its slot goes straight to the first of the line: were it free in between, a newcomer could take it.
   * @param place - of `take`.
   */
  leave(place: Place): void {
    if (this.#line.delete(place as LinePlace)) return;
    const [next] = this.#line;
    if (!next) {
      this.#slotsTaken -= 1;
      return;
    }
    this.#line.delete(next);
    next.giveSlot();
  }
}
