import { capacityAt, durationMs, type Phase } from './profile.js';

/** What a hidden service is started with. `refusing` answers 429 at once above its capacity, `queueing` makes callers wait. */
export interface ServiceBrief {
  readonly kind: 'refusing' | 'queueing';
  readonly phases: readonly Phase[];
  /** How long the work itself takes, on average. */
  readonly workMs: number;
}

/** What the service counted itself: nobody else's clock or memory is trusted. */
export interface ServiceReport {
  /** Of each half second. */
  readonly ticks: readonly {
    readonly accepted: number;
    readonly refused: number;
    readonly perSecond: number;
  }[];
  readonly accepted: number;
  readonly refused: number;
  /** Time in the service of accepted calls. */
  readonly p99Ms: number;
}

export const TICK_MS = 500;
/** How many seconds of its capacity the bucket of a refusing service holds. */
const BUCKET_SECONDS = 0.1;

/** The service without its socket: time is given, so that it can be tested. */
export class HiddenService {
  readonly #brief: ServiceBrief;
  readonly #random: () => number;
  readonly #ticks: { accepted: number; refused: number; perSecond: number }[] = [];
  readonly #latencies: number[] = [];
  #tokens: number;
  #filledAt = 0;
  #freeAt = 0;

  /** @param random - of [0, 1): work takes 0.7 to 1.3 of its mean in a refusing service, 0.95 to 1.05 in a queueing one. */
  constructor(brief: ServiceBrief, random: () => number) {
    this.#brief = brief;
    this.#random = random;
    this.#tokens = capacityAt(brief.phases, 0) * BUCKET_SECONDS;
  }

  /** How long the answer takes, or undefined when the call is refused. Calls after the last phase are not counted. */
  call(atMs: number): number | undefined {
    const perSecond = capacityAt(this.#brief.phases, atMs);
    const afterMs =
      this.#brief.kind === 'refusing' ? this.#take(atMs, perSecond) : this.#queue(atMs, perSecond);
    if (atMs >= durationMs(this.#brief.phases)) return afterMs;
    const tick = this.#tickAt(atMs);
    if (afterMs === undefined) tick.refused += 1;
    else {
      tick.accepted += 1;
      this.#latencies.push(afterMs);
    }
    return afterMs;
  }

  report(): ServiceReport {
    const sum = (pick: (tick: { accepted: number; refused: number }) => number) =>
      this.#ticks.reduce((total, tick) => total + pick(tick), 0);
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    return {
      ticks: this.#ticks,
      accepted: sum(({ accepted }) => accepted),
      refused: sum(({ refused }) => refused),
      p99Ms: sorted[Math.floor(0.99 * sorted.length)] ?? 0,
    };
  }

  #take(atMs: number, perSecond: number): number | undefined {
    const full = Math.max(1, perSecond * BUCKET_SECONDS);
    this.#tokens = Math.min(full, this.#tokens + ((atMs - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = atMs;
    if (this.#tokens < 1) return undefined;
    this.#tokens -= 1;
    return this.#work(0.3);
  }

  #queue(atMs: number, perSecond: number): number {
    this.#freeAt = Math.max(this.#freeAt, atMs) + 1000 / perSecond;
    return this.#freeAt - atMs + this.#work(0.05);
  }

  #work(spread: number): number {
    return this.#brief.workMs * (1 - spread + 2 * spread * this.#random());
  }

  #tickAt(atMs: number): { accepted: number; refused: number; perSecond: number } {
    const index = Math.floor(atMs / TICK_MS);
    for (let next = this.#ticks.length; next <= index; next++)
      this.#ticks.push({
        accepted: 0,
        refused: 0,
        perSecond: capacityAt(this.#brief.phases, next * TICK_MS),
      });
    return this.#ticks[index] as { accepted: number; refused: number; perSecond: number };
  }
}
