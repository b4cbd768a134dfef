import type { Rng } from '@millrace/foundation';
import type { SimProcess } from './scheduler.js';

/** What can happen to one call of the store. */
export const CALL_FAULTS = [
  'request lost',
  'reply lost',
  'request delayed',
  'reply delayed',
  'sent twice',
  'late copy',
  'killed before execution',
  'killed before the reply',
] as const;
/** See the constant. */
export type CallFault = (typeof CALL_FAULTS)[number];

/** What can happen besides. */
export const OTHER_FAULTS = [
  'wake-up lost',
  'wake-up delayed',
  'killed while a processor runs',
  'killed between two steps',
  'killed by the job',
  'event loop blocked',
  'store unreachable for all',
  'store unreachable for one',
  'store clock forward',
  'store clock back',
  'process clock jumps',
] as const;
/** See the constant. */
export type OtherFault = (typeof OTHER_FAULTS)[number];

/** How often everything happened, over all seeds of a run. */
export class Tally {
  readonly #counts = new Map<string, number>();

  count(name: string, amount = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + amount);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** One line per name, sorted. */
  toString(): string {
    return [...this.#counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${String(count).padStart(9)}  ${name}`)
      .join('\n');
  }
}

/** How bad a run is; each a probability. */
export interface FaultRates {
  /** Per call of the store. */
  readonly call: number;
  readonly wakeUp: number;
  /** Per try of a job. */
  readonly kill: number;
}

/** Draws the faults of one run, as long as they are on. */
export class Chaos {
  /** Off: nothing happens any more. */
  on = true;
  /** Until when nobody reaches the store, and until when single processes do not. */
  outageUntil = 0;
  readonly cutOffUntil = new Map<SimProcess, number>();
  /** Calls that are on their way for long: they may still arrive when the faults are over. */
  latecomers = 0;
  readonly #rng: Rng;
  readonly #rates: FaultRates;
  readonly #tally: Tally;
  readonly #leaseMs: number;
  readonly #time: () => number;

  /** @param rates - how many. */
  constructor(rng: Rng, rates: FaultRates, tally: Tally, leaseMs: number, time: () => number) {
    this.#rng = rng;
    this.#rates = rates;
    this.#tally = tally;
    this.#leaseMs = leaseMs;
    this.#time = time;
  }

  /** The ordinary time of one way through the network; short and whole, so that events meet. */
  delay(): number {
    return this.#rng.integer(0, 2);
  }

  /** A time in the order of a lease, often past it. */
  longDelay(): number {
    return this.#rng.integer(this.#leaseMs >> 2, this.#leaseMs * 2);
  }

  /**
   * The fault of a call.
   * @param process - who calls; whoever submits work is never killed.
   */
  callFault(process: SimProcess): CallFault | undefined {
    if (this.#isCutOff(process)) return this.coin() ? 'request lost' : 'reply lost';
    if (!this.#happens(this.#rates.call)) return undefined;
    const faults = isInstance(process) ? CALL_FAULTS : CALL_FAULTS.slice(0, -2);
    const fault = this.#rng.pick(faults);
    this.#tally.count(fault);
    return fault;
  }

  /** What becomes of a wake-up. */
  wakeUpFault(): 'wake-up lost' | 'wake-up delayed' | undefined {
    if (!this.#happens(this.#rates.wakeUp)) return undefined;
    const fault = this.#rng.pick(['wake-up lost', 'wake-up delayed'] as const);
    this.#tally.count(fault);
    return fault;
  }

  /** After how many milliseconds of a try its process is killed; undefined for most. */
  killInJob(durationMs: number): number | undefined {
    if (!this.#happens(this.#rates.kill)) return undefined;
    this.#tally.count('killed while a processor runs');
    return this.#rng.integer(0, durationMs);
  }

  /** One of two, evenly. */
  coin(): boolean {
    return this.#rng.chance(0.5);
  }

  /** Counts a fault that somebody else makes. */
  note(fault: OtherFault): void {
    this.#tally.count(fault);
  }

  #isCutOff(process: SimProcess): boolean {
    const time = this.#time();
    return this.on && (time < this.outageUntil || time < (this.cutOffUntil.get(process) ?? 0));
  }

  #happens(rate: number): boolean {
    return this.on && rate > 0 && this.#rng.chance(rate);
  }
}

/** Whether a process runs jobs (and may be killed). */
const isInstance = (process: SimProcess): boolean => process.name.startsWith('i');
