import { setMaxListeners } from 'node:events';
import { backoffMs, sleep } from '@millrace/foundation';
import type { Kit } from './kit.js';
import type { TaskEnd } from './ports.js';
import { isTransient } from './task-outcomes.js';

/** Told whether the claim held; or what PostgreSQL says of a result that it cannot keep. */
export type AfterWriting = (isEnded: boolean, error?: unknown) => void;

interface Waiting {
  readonly end: TaskEnd;
  readonly tell: AfterWriting;
}

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Writes completions of external tasks in groups: a commit for up to a hundred of them instead of one each. A group that could not be
 * written is tried again; the leases are extended meanwhile.
 */
export class Completions {
  readonly #kit: Kit;
  #waiting: Waiting[] = [];
  #cancelTimer: (() => void) | undefined;
  /** Groups on their way. */
  #writing = 0;
  readonly #stopped = new AbortController();

  constructor(kit: Kit) {
    this.#kit = kit;
    // Every group that waits for the database listens to it.
    setMaxListeners(0, this.#stopped.signal);
  }

  /** Has an end written with the next group. */
  add(end: TaskEnd, tell: AfterWriting): void {
    this.#waiting.push({ end, tell });
    if (this.#waiting.length >= this.#kit.options.completionsMax) this.#flush();
    // The first goes at once, with what ends in the same moment; others gather while it is being written.
    else
      this.#cancelTimer ??= this.#kit.options.clock.setTimer(
        this.#writing === 0 ? 0 : this.#kit.options.completionDelayMs,
        () => this.#flush(),
      );
  }

  /** Gives up what cannot be written: its leases will end. */
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
    // In the order in which everybody locks.
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
        // An earlier attempt may have written them, and only its reply was lost.
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

  /** One result that PostgreSQL refuses must not take the others with it. */
  async #separate(group: readonly Waiting[], error: unknown): Promise<void> {
    const [only] = group;
    if (group.length === 1) only?.tell(false, error);
    else await Promise.all(group.map((one) => this.#write([one])));
  }
}
