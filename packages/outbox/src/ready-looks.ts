import type { ResolvedOutboxOptions } from './options.js';
import type { ClaimedTask, Claimer, TaskStore } from './ports.js';

/** A look at all entries that takes longer has walked over dead ones, which somebody's old snapshot keeps from being removed. */
const SLOW_MS = 20;

/** The part of the time that slow looks at all entries may take. */
const FULL_LOOKS_SHARE = 0.1;

/** A slow look at everything, of which it is still to be asked where the live entries begin. */
interface SlowLook {
  readonly dags: readonly string[];
  readonly ids: readonly string[];
  readonly startedMs: number;
  readonly tookAll: boolean;
}

/**
 * Claims, and passes over dead entries when there are so many that looking at all of them has become slow: most looks then begin where the last full
 * one found the first task. A task that a full look could not see, because its transaction committed late, waits for the next full one.
 */
export class ReadyLooks {
  readonly #tasks: Pick<TaskStore, 'claim' | 'heads'>;
  readonly #options: Pick<ResolvedOutboxOptions, 'clock' | 'pollIntervalMs'>;
  #heads: ReadonlyMap<string, number> | undefined;
  #slowLook: SlowLook | undefined;
  /** Until when the last full look is enough. */
  #fullUntilMs = Number.NEGATIVE_INFINITY;

  /** @param options - how often to look at everything at least. */
  constructor(
    tasks: Pick<TaskStore, 'claim' | 'heads'>,
    options: Pick<ResolvedOutboxOptions, 'clock' | 'pollIntervalMs'>,
  ) {
    this.#tasks = tasks;
    this.#options = options;
  }

  /** Takes up to `limit` tasks that can run now. */
  async claim(claimer: Claimer, limit: number): Promise<readonly ClaimedTask[]> {
    const { clock } = this.#options;
    // Not right after the slow look itself: what it took would wait for the answer, or be lost with it.
    if (this.#slowLook) await this.#findHeads(this.#slowLook);
    const startedMs = clock.monotonicMs();
    if (this.#heads && startedMs < this.#fullUntilMs) return this.#tasks.claim(claimer, limit, this.#heads);
    this.#heads = undefined;
    const claimed = await this.#tasks.claim(claimer, limit);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < SLOW_MS) return claimed;
    this.#fullUntilMs = startedMs + Math.max(this.#options.pollIntervalMs, tookMs / FULL_LOOKS_SHARE);
    const ids = claimed.map(({ id }) => id);
    // With entries of tasks that can no longer run, a claim may take half of what it could.
    this.#slowLook = { dags: claimer.dags, ids, startedMs, tookAll: ids.length * 2 < limit };
    return claimed;
  }

  async #findHeads({ dags, ids, startedMs, tookAll }: SlowLook): Promise<void> {
    this.#slowLook = undefined;
    const agoMs = this.#options.clock.monotonicMs() - startedMs;
    this.#heads = await this.#tasks.heads({ dags, ids, agoMs, tookAll });
  }
}
