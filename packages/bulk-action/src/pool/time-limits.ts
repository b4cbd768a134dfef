import type { CancelTimer, Clock } from '@millrace/foundation';
import { Line, type Linked } from './line.js';

/** Something that may take only so long. */
export interface TimeLimited {
  /** Told once, when its time is over. */
  timeOver(): void;
}

/** A limit that runs. */
export class TimeLimit implements Linked<TimeLimit> {
  before: TimeLimit | undefined = undefined;
  after: TimeLimit | undefined = undefined;
  readonly owner: TimeLimited;
  /** On the clock's monotonic scale. */
  readonly passesAtMs: number;
  readonly #line: Line<TimeLimit>;

  /**
   * @param owner - who is told.
   * @param passesAtMs - when.
   * @param line - where it waits.
   */
  constructor(owner: TimeLimited, passesAtMs: number, line: Line<TimeLimit>) {
    this.owner = owner;
    this.passesAtMs = passesAtMs;
    this.#line = line;
    line.add(this);
  }

  /** Ends it: the owner is not told any more. A second call does nothing. */
  end(): void {
    this.#line.remove(this);
  }
}

/** The limits of one length. They pass in the order in which they began, so they share the timer of the first. */
class EqualLimits {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #line = new Line<TimeLimit>();
  #cancelTimer: CancelTimer | undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** The timer stays when a limit ends: short jobs would set and cancel one each. It may fire for nobody, once. */
  begin(owner: TimeLimited): TimeLimit {
    if (!this.#cancelTimer) this.#arm(this.#ms);
    return new TimeLimit(owner, this.#clock.monotonicMs() + this.#ms, this.#line);
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #arm(ms: number): void {
    this.#cancelTimer = this.#clock.setTimer(ms, () => this.#look());
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    let { first } = this.#line;
    while (first && first.passesAtMs <= nowMs) {
      first.end();
      first.owner.timeOver();
      first = this.#line.first;
    }
    this.#cancelTimer = undefined;
    if (first) this.#arm(first.passesAtMs - nowMs);
  }
}

/**
 * Time limits of many things at once. A timer for each took 0.5 µs and 400 bytes, set and cancelled for nearly every
 * job; here all limits of one length share one.
 */
export class TimeLimits {
  readonly #clock: Clock;
  readonly #byLength = new Map<number, EqualLimits>();

  /** @param clock - whose time counts. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Begins a limit.
   * @param owner - told when it has passed.
   * @param ms - its length. Few different ones are expected: those of the processors.
   * @returns the limit, to end it early.
   */
  begin(owner: TimeLimited, ms: number): TimeLimit {
    let limits = this.#byLength.get(ms);
    if (!limits) {
      limits = new EqualLimits(this.#clock, ms);
      this.#byLength.set(ms, limits);
    }
    return limits.begin(owner);
  }

  /** Takes the timers back: nobody is told any more. */
  stop(): void {
    for (const limits of this.#byLength.values()) limits.stop();
  }
}
