import {
  defaultBurst,
  type GcraBucket,
  type Linked,
  nextSlotUs,
  tatAfterRateChange,
} from '@millrace/foundation';

/** A GCRA bucket that is kept with its scope. */
export type Rate = { -readonly [K in keyof GcraBucket]: GcraBucket[K] };

/** Limits of a scope. Undefined means no limit. */
export interface Limits {
  readonly rps?: number | undefined;
  readonly burst?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** Something whose durable part is stored as one record: the shard, a resource, a tenant or a group. */
export abstract class Recorded implements Linked<Recorded> {
  /** Names it in notes. Ties of the fair order go to the lower number. */
  readonly number: number;
  /** The last commit that its stored record includes. */
  recordSeq = 0;
  /** The first commit that its stored record lacks, and the number of changes made before it. */
  dirtySeq = 0;
  dirtyChange = 0;
  /** Neighbours among the dirty records. */
  previous: Recorded | undefined;
  next: Recorded | undefined;

  constructor(number: number) {
    this.number = number;
  }
}

/** A record with limits, and what the jobs of it hold of them. */
export abstract class Scope extends Recorded {
  weight = 1;
  concurrency: number | undefined;
  /** Undefined means no rate limit. */
  rate: Rate | undefined;
  /** The last start that found the bucket full. Tokens of earlier starts have come back already. */
  fullUs = 0;
  /** Begin of its pause; undefined while it is not paused. */
  pausedMs: number | undefined;
  /** Its groups made no progress only since then: time in which it was paused does not count. */
  quietFromMs = 0;
  /** Cost of ready jobs, which will spend their tokens first. */
  readyCost = 0;
  /** Jobs that are ready or in flight. */
  held = 0;
  /** While it is parked: when its next token comes. */
  parkedUntilUs = 0;
  parkedAt = -1;

  get isPaused(): boolean {
    return this.pausedMs !== undefined;
  }

  /** Reports whether one more of its jobs may be held. */
  get hasRoom(): boolean {
    return this.concurrency === undefined || this.held < this.concurrency;
  }

  /** Returns when a start of this cost has its token; at most `nowUs` means now. */
  slotUs(nowUs: number, cost: number): number {
    return this.rate ? nextSlotUs(this.rate, nowUs, cost, this.readyCost) : 0;
  }

  /** Sets the rate. Starts that were spent stay spent. The same rate changes nothing. */
  setRate(limits: Limits, nowUs: number, costMax: number): void {
    const { rps } = limits;
    if (!rps) {
      this.rate = undefined;
      return;
    }
    const burst = limits.burst ?? defaultBurst(rps);
    if (this.rate?.rps === rps && this.rate.burst === burst) return;
    const tatUs = this.rate ? tatAfterRateChange(this.rate, nowUs, rps, burst) : 0;
    this.rate = { rps, burst, tatUs, costMax };
  }
}
