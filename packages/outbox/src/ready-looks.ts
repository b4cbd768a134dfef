import type { ResolvedOutboxOptions } from './options.js';
import type { ClaimedTask, Claimer, TaskStore } from './ports.js';

/** A claim over all entries that takes longer has read dead ones, which an old snapshot keeps from being removed. */
const SLOW_MS = 20;

/** Share of the time that slow claims over all entries may take. */
const FULL_LOOKS_SHARE = 0.1;

/** A slow claim over all entries, after which the first live entries are still to be found. */
interface SlowLook {
  readonly dags: readonly string[];
  readonly ids: readonly string[];
  readonly startedMs: number;
  readonly tookAll: boolean;
}

/**
 * Claims tasks. When dead entries make a claim over all entries slow, most claims start where the last full one found the
 * first task. A task that the full one could not see, because its transaction committed late, waits for the next full one.
 */
export class ReadyLooks {
  readonly #tasks: Pick<TaskStore, 'claim' | 'heads'>;
  readonly #options: Pick<ResolvedOutboxOptions, 'clock' | 'pollIntervalMs'>;
  #heads: ReadonlyMap<string, number> | undefined;
  #slowLook: SlowLook | undefined;
  /** Time of the next full claim. */
  #fullUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    tasks: Pick<TaskStore, 'claim' | 'heads'>,
    options: Pick<ResolvedOutboxOptions, 'clock' | 'pollIntervalMs'>,
  ) {
    this.#tasks = tasks;
    this.#options = options;
  }

  /** Claims up to `limit` tasks that can run now. */
  async claim(claimer: Claimer, limit: number): Promise<readonly ClaimedTask[]> {
    const { clock } = this.#options;
    // Not right after the slow claim: its tasks would wait for this statement, or be lost with it.
    if (this.#slowLook) await this.#findHeads(this.#slowLook);
    const startedMs = clock.monotonicMs();
    if (this.#heads && startedMs < this.#fullUntilMs) return this.#tasks.claim(claimer, limit, this.#heads);
    this.#heads = undefined;
    const claimed = await this.#tasks.claim(claimer, limit);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < SLOW_MS) return claimed;
    this.#fullUntilMs = startedMs + Math.max(this.#options.pollIntervalMs, tookMs / FULL_LOOKS_SHARE);
    const ids = claimed.map(({ id }) => id);
    // Stale entries may halve what a claim takes.
    this.#slowLook = { dags: claimer.dags, ids, startedMs, tookAll: ids.length * 2 < limit };
    return claimed;
  }

  async #findHeads({ dags, ids, startedMs, tookAll }: SlowLook): Promise<void> {
    this.#slowLook = undefined;
    const agoMs = this.#options.clock.monotonicMs() - startedMs;
    this.#heads = await this.#tasks.heads({ dags, ids, agoMs, tookAll });
  }
}
