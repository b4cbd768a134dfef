import { type Clock, type Logger, silentLogger, sleep } from '@millrace/foundation';
import type { Refusal } from '../ports.js';
import {
  type Circuit,
  circuitAt,
  letThrough,
  NEW_CIRCUIT,
  reportCall,
  takeBack,
} from '../rules/circuit-breaker.js';
import { fullBucket, spendToken, type TokenBucket, tokensAt, tokenWaitMs } from '../rules/token-bucket.js';
import { Bulkhead, type Place } from './bulkhead.js';
import { Cutoff } from './cutoff.js';
import type { ResolvedProtectionOptions } from './options.js';
import { raceTries, type Work } from './race-tries.js';

/** What a Protection takes from outside. */
export interface ProtectionDependencies {
  /** For the log. */
  readonly route: string;
  readonly options: ResolvedProtectionOptions;
  readonly clock: Clock;
  readonly logger?: Logger | undefined;
}

declare const PERMIT: unique symbol;

/** Leave for one call. It holds a place from `admit` on, until `run` has ended or it is withdrawn. */
export interface Permit {
  readonly [PERMIT]: true;
}

/** The answer to who wants in. */
export type Admission = { readonly permit: Permit } | { readonly refusal: Refusal };

/** How a call is run. */
export interface RunOptions<T> {
  /** Ends it: the call is then neither well nor badly ended. */
  readonly signal: AbortSignal;
  /** Whether a value stands for a failure of what is protected. */
  isFailure(value: T): boolean;
}

/** How a call ended. */
export type RunEnd<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** `began`: whether the work had begun, or was still waiting for a slot. */
  | { readonly kind: 'timeout'; readonly began: boolean };

/** A protection as people see it. */
export interface ProtectionState {
  readonly circuit: Circuit['kind'];
  /** Calls that have a slot. */
  readonly running: number;
  /** Calls that wait for one. */
  readonly queued: number;
  /** Calls that may begin now; undefined without a rate limit. */
  readonly tokens: number | undefined;
}

/** What a permit stands for. */
interface Held {
  readonly place: Place;
  readonly epoch: number;
  readonly admittedMs: number;
  /** Whoever has to wait for a slot takes the token when its turn has come: else a long line would hold all tokens. */
  holdsToken: boolean;
}

/** Bounds of a bulkhead that has none. */
const NO_BULKHEAD = { concurrency: Number.POSITIVE_INFINITY, queueMax: 0 };
/** Until a call has ended nobody knows how long one takes. */
const DURATION_UNKNOWN_MS = 1_000;
/** Share of the newest duration in the mean: about the last ten count. */
const NEWEST_SHARE = 0.2;

/**
 * Stands around the calls of one route: timeout, circuit breaker, bulkhead, rate limit, hedge, each as far as it is given.
 * It can be asked before anything is stored, and says when to come again.
 */
export class Protection {
  readonly #route: string;
  readonly #options: ResolvedProtectionOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #bulkhead: Bulkhead;
  readonly #permits = new Map<Permit, Held>();
  #circuit: Circuit = NEW_CIRCUIT;
  #bucket: TokenBucket | undefined;
  /** Let through, not begun. Tokens are spent when work begins, so that giving one back needs no undoing. */
  #tokensHeld = 0;
  /** Have their slot and wait for a token; those who come later get none before them. */
  #tokensAwaited = 0;
  #meanMs: number | undefined;

  constructor({ route, options, clock, logger = silentLogger }: ProtectionDependencies) {
    this.#route = route;
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#bulkhead = new Bulkhead(options.bulkhead ?? NO_BULKHEAD);
    this.#bucket = options.rateLimit && fullBucket(options.rateLimit);
  }

  /** Asks circuit breaker, bulkhead and rate limit, in this order; takes from each when all of them agree, else from none. */
  admit(): Admission {
    const nowMs = this.#clock.monotonicMs();
    const limits = this.#options.circuitBreaker;
    this.#become(circuitAt(this.#circuit, nowMs));
    const circuit = limits ? letThrough(this.#circuit, limits) : this.#circuit;
    if (!circuit) return refused('CB_OPEN', this.#circuitWaitMs(nowMs));
    if (this.#bulkhead.isFull) return refused('BULKHEAD_FULL', this.#slotWaitMs());
    const waitMs = this.#tokenWaitMs(this.#tokensHeld + this.#tokensAwaited);
    if (waitMs > 0) return refused('RATE_LIMIT', waitMs);
    this.#become(circuit);
    const place = this.#bulkhead.take();
    if (place.hasSlot) this.#tokensHeld += 1;
    const permit = Object.freeze({}) as Permit;
    const held = { place, epoch: circuit.epoch, admittedMs: nowMs, holdsToken: place.hasSlot };
    this.#permits.set(permit, held);
    return { permit };
  }

  /**
   * Gives everything back for work that will not begin; nothing when it was run or withdrawn before.
   * @param permit - of `admit`.
   */
  withdraw(permit: Permit): void {
    const held = this.#permits.get(permit);
    if (!held) return;
    this.#permits.delete(permit);
    this.#giveBack(held);
  }

  /**
   * Runs a call as soon as it has its slot. It is over at the timeout or when the signal aborts, also for work that ignores
   * its own signal: such work goes on unseen, and its place is free.
   * @param permit - of `admit`; good for one run.
   * @param work - begins in this very call unless it has to wait; gets a signal of its own for each try.
   * @returns its value, or that the time was over.
   * @throws what the work threw; the reason of the signal when that aborted.
   */
  async run<T>(permit: Permit, work: Work<T>, { signal, isFailure }: RunOptions<T>): Promise<RunEnd<T>> {
    const held = this.#permits.get(permit);
    if (!held) throw new Error(`Route ${this.#route}: a permit is good for one run; ask admit() for another`);
    this.#permits.delete(permit);
    const { timeoutMs, hedge } = this.#options;
    const cutoff = new Cutoff({ clock: this.#clock, signal, timeoutMs, sinceMs: held.admittedMs });
    try {
      if (!held.holdsToken) await this.#waitForTurn(held, cutoff);
      if (cutoff.signal.aborted) {
        this.#giveBack(held);
        return cutShort(cutoff, false);
      }
      const startedMs = this.#begin();
      const race = { clock: this.#clock, hedge, isFailure, signal: cutoff.signal };
      const verdict = await raceTries(work, race);
      const failed = verdict.kind === 'cut' ? cutoff.timedOut || undefined : verdict.failed;
      this.#end(held, startedMs, failed);
      if (verdict.kind === 'thrown') throw verdict.error;
      return verdict.kind === 'value' ? { kind: 'done', value: verdict.value } : cutShort(cutoff, true);
    } finally {
      cutoff.dispose();
    }
  }

  /** What it is like now, for metrics and pages. */
  state(): ProtectionState {
    const nowMs = this.#clock.monotonicMs();
    return {
      circuit: circuitAt(this.#circuit, nowMs).kind,
      running: this.#bulkhead.slotsTaken,
      queued: this.#bulkhead.queued,
      tokens: this.#bucket && tokensAt(this.#bucket, nowMs, this.#tokensHeld + this.#tokensAwaited),
    };
  }

  /** For its slot, then for its token. */
  async #waitForTurn(held: Held, cutoff: Cutoff): Promise<void> {
    await cutoff.wait(held.place.slot);
    this.#tokensAwaited += 1;
    let waitMs = this.#tokenWaitMs(this.#tokensHeld);
    while (waitMs > 0 && !cutoff.signal.aborted) {
      await sleep(this.#clock, waitMs, cutoff.signal);
      waitMs = this.#tokenWaitMs(this.#tokensHeld);
    }
    this.#tokensAwaited -= 1;
    if (cutoff.signal.aborted) return;
    // Held at once: another may ask before this call goes on.
    this.#tokensHeld += 1;
    held.holdsToken = true;
  }

  #tokenWaitMs(ahead: number): number {
    return this.#bucket ? tokenWaitMs(this.#bucket, this.#clock.monotonicMs(), ahead) : 0;
  }

  #begin(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#tokensHeld -= 1;
    if (this.#bucket) this.#bucket = spendToken(this.#bucket, nowMs);
    return nowMs;
  }

  /** @param failed - undefined when the call has shown nothing. */
  #end({ place, epoch }: Held, startedMs: number, failed: boolean | undefined): void {
    const nowMs = this.#clock.monotonicMs();
    const tookMs = nowMs - startedMs;
    this.#meanMs =
      this.#meanMs === undefined ? tookMs : this.#meanMs + (tookMs - this.#meanMs) * NEWEST_SHARE;
    const limits = this.#options.circuitBreaker;
    if (limits && failed !== undefined)
      this.#become(reportCall(this.#circuit, limits, { epoch, failed, nowMs }));
    else this.#become(takeBack(this.#circuit, epoch));
    this.#bulkhead.leave(place);
  }

  #giveBack({ place, epoch, holdsToken }: Held): void {
    if (holdsToken) this.#tokensHeld -= 1;
    this.#become(takeBack(this.#circuit, epoch));
    this.#bulkhead.leave(place);
  }

  /** Until it is half open; when others are probing, as long as such a call takes. */
  #circuitWaitMs(nowMs: number): number {
    const openMs = this.#options.circuitBreaker?.openMs ?? 0;
    if (this.#circuit.kind === 'open') return this.#circuit.untilMs - nowMs;
    return Math.min(openMs, this.#meanMs ?? openMs);
  }

  /** Until the next of the running calls ends, if they are spread evenly. */
  #slotWaitMs(): number {
    const { concurrency } = this.#options.bulkhead ?? NO_BULKHEAD;
    return (this.#meanMs ?? DURATION_UNKNOWN_MS) / concurrency;
  }

  #become(circuit: Circuit): void {
    const before = this.#circuit.kind;
    this.#circuit = circuit;
    if (circuit.kind === before) return;
    const fields = { route: this.#route, circuit: circuit.kind };
    if (circuit.kind === 'open')
      this.#logger.warn(fields, 'Circuit open: too many calls failed, so none are let through for a while');
    else if (circuit.kind === 'half-open')
      this.#logger.info(fields, 'Circuit half open: a few calls are let through to see how they go');
    else this.#logger.info(fields, 'Circuit closed: calls go well again');
  }
}

/** In whole milliseconds, never 0: whoever is refused now is not told to come at once. */
const refused = (reason: Refusal['reason'], waitMs: number): Admission => ({
  refusal: { reason, retryAfterMs: Math.max(1, Math.ceil(waitMs)) },
});

function cutShort(cutoff: Cutoff, began: boolean): RunEnd<never> {
  if (!cutoff.timedOut) throw cutoff.signal.reason;
  return { kind: 'timeout', began };
}
