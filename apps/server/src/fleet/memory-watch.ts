import { getHeapStatistics } from 'node:v8';
import type { InstanceMemory } from '@millrace/contract';
import type { Clock } from '@millrace/foundation';

/** One part of the time that is looked at. */
const SPAN_MS = 60_000;
/** How many parts are remembered. */
const SPANS_MAX = 15;

/** What the heap held at least in a part of the time: what is garbage comes and goes, what is kept does not. */
interface Span {
  readonly beganAt: number;
  readonly leastBytes: number;
}

/** Follows the memory of this process. */
export class MemoryWatch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #heapUsed: () => number;
  #spans: readonly Span[] = [];

  /** @param heapUsed - how many bytes of the heap are used now (those of this process). */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    heapUsed: () => number = () => process.memoryUsage().heapUsed,
  ) {
    this.#clock = clock;
    this.#heapUsed = heapUsed;
  }

  /** How it is now. Growth is seen by those who look every few seconds. */
  look(): InstanceMemory {
    const heapUsedBytes = this.#heapUsed();
    this.#note(heapUsedBytes);
    const first = this.#spans[0] as Span;
    // The one under way may have seen nothing but garbage yet.
    const last = this.#spans.at(-2) ?? first;
    return {
      rssBytes: process.memoryUsage.rss(),
      heapUsedBytes,
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      grownBytes: last.leastBytes - first.leastBytes,
      overMs: last.beganAt - first.beganAt,
    };
  }

  #note(bytes: number): void {
    const now = this.#clock.monotonicMs();
    const current = this.#spans.at(-1);
    if (current && now - current.beganAt < SPAN_MS) {
      const least = { ...current, leastBytes: Math.min(current.leastBytes, bytes) };
      this.#spans = [...this.#spans.slice(0, -1), least];
    } else this.#spans = [...this.#spans, { beganAt: now, leastBytes: bytes }].slice(-SPANS_MAX);
  }
}
