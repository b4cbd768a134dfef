import type { CancelTimer, Clock, Rng } from '@millrace/foundation';

/** A process as the scheduler sees it: once dead or while frozen, nothing of it runs. */
export interface SimProcess {
  readonly name: string;
  readonly clock: SimClock;
  alive: boolean;
  /** Nothing of it runs before this, as if its event loop were blocked. */
  frozenUntil: number;
}

interface SimEvent {
  readonly at: number;
  readonly process: SimProcess;
  readonly label: string;
  readonly run: () => void;
}

/** A run takes about a thousand steps; far more is a loop that never rests. */
const STEPS_MAX = 60_000;
const NEW_YEAR_2026 = Date.UTC(2026, 0, 1);

/** The clock of one process: timers fire through the scheduler, and never once the process is dead. */
export class SimClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #process: () => SimProcess;
  #wallAhead = NEW_YEAR_2026;

  constructor(scheduler: Scheduler, process: () => SimProcess) {
    this.#scheduler = scheduler;
    this.#process = process;
  }

  now(): number {
    return this.#scheduler.time + this.#wallAhead;
  }

  monotonicMs(): number {
    return this.#scheduler.time;
  }

  setTimer(delayMs: number, fn: () => void): CancelTimer {
    return this.#scheduler.schedule(this.#process(), delayMs, 'timer', fn);
  }

  /**
   * Sets the wall clock: `now()` jumps, timers and `monotonicMs()` do not notice.
   * @param ms - how far; negative is back.
   */
  jump(ms: number): void {
    this.#wallAhead += ms;
  }
}

/** Every step that happened, as a running hash; the lines themselves are kept only for whoever wants to read them. */
export class EventLog {
  readonly lines: string[] = [];
  readonly #keep: boolean;
  #low = 0x811c9dc5;
  #high = 0x9e3779b9;

  constructor(keep: boolean) {
    this.#keep = keep;
  }

  write(line: string): void {
    let low = this.#low;
    let high = this.#high;
    for (let index = 0; index < line.length; index++) {
      const unit = line.charCodeAt(index);
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit, 0x85ebca6b) ^ (high >>> 15);
    }
    this.#low = low;
    this.#high = high;
    if (this.#keep) this.lines.push(line);
  }

  /** FNV-1a and a second mix over all lines. */
  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

/**
 * Owns virtual time. One event at a time: all microtasks run out, one of the events that are due is picked at random,
 * and time moves only when none is due. The same seed therefore gives the same run, step for step.
 */
export class Scheduler {
  readonly log: EventLog;
  readonly #rng: Rng;
  /** The latest first, so that the next one is popped from the end. */
  readonly #pending: SimEvent[] = [];
  #time = 0;
  #steps = 0;

  constructor(rng: Rng, log: EventLog) {
    this.#rng = rng;
    this.log = log;
  }

  /** Milliseconds of virtual time since the start. */
  get time(): number {
    return this.#time;
  }

  /** Events run so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Makes a process with a clock of its own. */
  process(name: string): SimProcess {
    const made: SimProcess = {
      name,
      clock: new SimClock(this, () => made),
      alive: true,
      frozenUntil: 0,
    };
    return made;
  }

  /**
   * Makes something happen later.
   * @param process - whose event it is: it is dropped when the process is dead by then.
   * @param delayMs - from now, ≥ 0; a part of a millisecond counts as a whole one, so that events meet.
   * @returns a function that takes the event back.
   */
  schedule(process: SimProcess, delayMs: number, label: string, run: () => void): CancelTimer {
    if (!(Number.isFinite(delayMs) && delayMs >= 0)) throw new RangeError(`delayMs ${delayMs} of ${label}`);
    const event: SimEvent = { at: this.#time + Math.ceil(delayMs), process, label, run };
    this.#insert(event);
    return () => {
      const index = this.#pending.indexOf(event);
      if (index >= 0) this.#pending.splice(index, 1);
    };
  }

  /** Ends a process: its timers and whatever it waits for never come. */
  kill(process: SimProcess): void {
    process.alive = false;
    this.log.write(`${this.#time} ${process.name} killed`);
  }

  /**
   * Runs events until the condition holds, nothing is left, or the time has come.
   * @returns whether the condition holds.
   * @throws Error after STEPS_MAX events in all.
   */
  async run(done: () => boolean, untilMs: number): Promise<boolean> {
    for (;;) {
      await microtasksRun();
      if (done()) return true;
      const event = this.#next(untilMs);
      if (!event) return false;
      this.#steps += 1;
      if (this.#steps > STEPS_MAX)
        throw new Error(
          `${STEPS_MAX} steps, and now ${event.process.name} ${event.label} at ${this.#time} ms`,
        );
      this.log.write(`${this.#time} ${event.process.name} ${event.label}`);
      event.run();
    }
  }

  #next(untilMs: number): SimEvent | undefined {
    for (;;) {
      const first = this.#pending.at(-1);
      if (!first || first.at > untilMs) {
        this.#time = Math.max(this.#time, untilMs);
        return undefined;
      }
      this.#time = Math.max(this.#time, first.at);
      const event = this.#takeDue();
      if (!event.process.alive) continue;
      if (event.process.frozenUntil <= this.#time) return event;
      this.#insert({ ...event, at: event.process.frozenUntil });
    }
  }

  #takeDue(): SimEvent {
    let due = 1;
    while (due < this.#pending.length && (this.#pending.at(-1 - due) as SimEvent).at <= this.#time) due++;
    const back = due === 1 ? 0 : this.#rng.integer(0, due - 1);
    return this.#pending.splice(this.#pending.length - 1 - back, 1)[0] as SimEvent;
  }

  #insert(event: SimEvent): void {
    let low = 0;
    let high = this.#pending.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pending[middle] as SimEvent).at > event.at) low = middle + 1;
      else high = middle;
    }
    this.#pending.splice(low, 0, event);
  }
}

/** Node empties the whole queue of microtasks before it gets to a `setImmediate`, so chains of any depth have run. */
const microtasksRun = () => new Promise<void>((resolve) => setImmediate(resolve));
