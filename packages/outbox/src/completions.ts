import { setMaxListeners } from 'node:events';
import { backoffMs, sleep } from '@millrace/foundation';
import type { Kit } from './kit.js';
import type { TaskEnd } from './ports.js';
import { isTransient } from './task-outcomes.js';

/** Called with whether the claim held, or with PostgreSQL's error for a result that it cannot store. */
export type AfterWriting = (isEnded: boolean, error?: unknown) => void;

interface Waiting {
  readonly end: TaskEnd;
  readonly tell: AfterWriting;
}

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Stores completions of external tasks in groups, with one commit for up to `completionsMax` of them. A group that could
 * not be stored is retried while the leases are extended.
 */
export class Completions {
  readonly #kit: Kit;
  #waiting: Waiting[] = [];
  #cancelTimer: (() => void) | undefined;
  /** Number of groups being stored. */
  #writing = 0;
  readonly #stopped = new AbortController();

  constructor(kit: Kit) {
    this.#kit = kit;
    // Every group that waits for the database listens to it.
    setMaxListeners(0, this.#stopped.signal);
  }

  /** Stores an end with the next group. */
  add(end: TaskEnd, tell: AfterWriting): void {
    this.#waiting.push({ end, tell });
    if (this.#waiting.length >= this.#kit.options.completionsMax) this.#flush();
    // The first group goes at once, with what ends in the same moment. Others gather while it is being stored.
    else
      this.#cancelTimer ??= this.#kit.options.clock.setTimer(
        this.#writing === 0 ? 0 : this.#kit.options.completionDelayMs,
        () => this.#flush(),
      );
  }

  /** Drops what cannot be stored. Its leases will expire. */
  stop(): void {
    this.#stopped.abort();
    this.#flush();
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const group = this.#waiting;
    if (group.length === 0) return;
    this.#waiting = [];
    // Every transaction locks tasks in this order.
    group.sort((one, other) => Number(BigInt(one.end.id) - BigInt(other.end.id)));
    this.#writing++;
    void this.#write(group).finally(() => {
      this.#writing--;
      if (this.#writing === 0) this.#flush();
    });
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    const ends = group.map(({ end }) => end);
    for (let attempt = 1; ; attempt++) {
      try {
        const { ended, ready } = await this.#kit.tasks.end(this.#kit.options.database, ends);
        // An earlier attempt may have stored them, and only its reply was lost.
        const before = attempt > 1 ? await this.#kit.tasks.doneBefore(ends) : ended;
        for (const { end, tell } of group) tell(ended.has(end.id) || before.has(end.id));
        this.#kit.afterEnd(ready);
        return;
      } catch (error) {
        if (!isTransient(error)) return this.#separate(group, error);
        this.#kit.options.logger.warn(
          { tasks: ends.length, reason: String(error) },
          'Writing completions failed, will retry',
        );
        const pause = { attempt, baseMs: PAUSE_FIRST_MS, maxMs: PAUSE_MAX_MS };
        const pauseMs = backoffMs({ strategy: 'exponential', ...pause });
        if (await sleep(this.#kit.options.clock, pauseMs, this.#stopped.signal)) continue;
        for (const { tell } of group) tell(false);
        return;
      }
    }
  }

  /** Stores each end alone, so that one result that PostgreSQL rejects does not affect the others. */
  async #separate(group: readonly Waiting[], error: unknown): Promise<void> {
    const [only] = group;
    if (group.length === 1) only?.tell(false, error);
    else await Promise.all(group.map((one) => this.#write([one])));
  }
}
