interface Event {
  readonly atMs: number;
  readonly order: number;
  run(): void;
}

const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** Virtual time: what is due first happens first, and takes no time. A binary heap. */
export class EventQueue {
  nowMs = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  /** Runs something later; Infinity is never. */
  after(delayMs: number, run: () => void): void {
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const event = { atMs: this.nowMs + delayMs, order: this.#order++, run };
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (isBefore(this.#heap[above] as Event, event)) break;
      this.#heap[index] = this.#heap[above] as Event;
      index = above;
    }
    this.#heap[index] = event;
  }

  /** Lets time pass. */
  runUntil(endMs: number): void {
    for (let event = this.#heap[0]; event && event.atMs <= endMs; event = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = event.atMs;
      event.run();
    }
    this.nowMs = endMs;
  }

  #removeFirst(): void {
    const last = this.#heap.pop() as Event;
    if (this.#heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= this.#heap.length) break;
      if (
        below + 1 < this.#heap.length &&
        isBefore(this.#heap[below + 1] as Event, this.#heap[below] as Event)
      )
        below += 1;
      if (isBefore(last, this.#heap[below] as Event)) break;
      this.#heap[index] = this.#heap[below] as Event;
      index = below;
    }
    this.#heap[index] = last;
  }
}
