import {
  type Clock,
  type GcraBucket,
  type Logger,
  nextSlotUs,
  silentLogger,
  sleep,
  tatAfterStart,
  tokensAt,
} from '@millrace/foundation';
import type { Refusal } from '../ports.js';
import {
  type Circuit,
  circuitAt,
  letThrough,
  NEW_CIRCUIT,
  reportCall,
  takeBack,
} from '../rules/circuit-breaker.js';
import { Bulkhead, type Place } from './bulkhead.js';
import { CallDeadline } from './call-deadline.js';
import { runHedged, type Work } from './hedge.js';
import type { ResolvedProtectionOptions } from './options.js';

/** The dependencies of a Protection. */
export interface ProtectionDependencies {
  /** For the log. */
  readonly route: string;
  readonly options: ResolvedProtectionOptions;
  readonly clock: Clock;
  readonly logger?: Logger | undefined;
}

declare const PERMIT: unique symbol;

/** Permission for one call. It holds a place from `admit` until `run` has ended or it is withdrawn. */
export interface Permit {
  readonly [PERMIT]: true;
}

/** The result of `admit`. */
export type Admission = { readonly permit: Permit } | { readonly refusal: Refusal };

/** Options of one call. */
export interface RunOptions<T> {
  /** Aborts the call, which then counts neither as a success nor as a failure. */
  readonly signal: AbortSignal;
  /** Reports whether a value stands for a failure of the protected work. */
  isFailure(value: T): boolean;
}

/** The end of a call. */
export type RunEnd<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** `began`: false if the call still waited for a slot. */
  | { readonly kind: 'timeout'; readonly began: boolean };

/** The state of a protection, for display. */
export interface ProtectionState {
  readonly circuit: Circuit['kind'];
  /** Number of calls that have a slot. */
  readonly running: number;
  /** Number of calls that wait for one. */
  readonly queued: number;
  /** Number of calls that may begin now. undefined without a rate limit. */
  readonly tokens: number | undefined;
}

/** The place and the token of a permit. */
interface Held {
  readonly place: Place;
  readonly epoch: number;
  readonly admittedMs: number;
  /** A call that waits for a slot takes its token when it has the slot. A long queue would hold all tokens otherwise. */
  holdsToken: boolean;
}

/** A bulkhead without limits. */
const NO_BULKHEAD = { concurrency: Number.POSITIVE_INFINITY, queueMax: 0 };
/** The assumed duration of a call until one has ended. */
const DURATION_UNKNOWN_MS = 1_000;
/** Share of the newest duration in the mean: about the last ten count. */
const NEWEST_SHARE = 0.2;
/**
 * A start may come this much early. Sums of fractional milliseconds differ by less, and a caller that waited for its
 * `retryAfterMs` must be admitted. It does not add up: the next TAT follows from the last one, not from the start.
 */
const EARLY_US = 1;

/**
 * Protects the calls of one route with a timeout, a circuit breaker, a bulkhead, a rate limit and hedges, as configured.
 * `admit` decides before anything is stored. A refusal says when to try again.
 */
export class Protection {
  readonly #route: string;
  readonly #options: ResolvedProtectionOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #bulkhead: Bulkhead;
  readonly #permits = new Map<Permit, Held>();
  #circuit: Circuit = NEW_CIRCUIT;
  #bucket: GcraBucket | undefined;
  /** Calls admitted and not begun. A token is spent when the work begins, so a withdrawal has nothing to undo. */
  #tokensHeld = 0;
  /** Calls that have their slot and wait for a token. Later calls get none before them. */
  #tokensAwaited = 0;
  #meanMs: number | undefined;

  constructor({ route, options, clock, logger = silentLogger }: ProtectionDependencies) {
    this.#route = route;
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#bulkhead = new Bulkhead(options.bulkhead ?? NO_BULKHEAD);
    this.#bucket = options.rateLimit && { ...options.rateLimit, tatUs: 0, costMax: 1 };
  }

  /** Checks circuit breaker, bulkhead and rate limit in this order. Takes from each if all admit the call, else from none. */
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
   * Releases everything for work that will not begin. Does nothing if the permit was used before.
   * @param permit - of `admit`.
   */
  withdraw(permit: Permit): void {
    const held = this.#permits.get(permit);
    if (!held) return;
    this.#permits.delete(permit);
    this.#giveBack(held);
  }

  /**
   * Runs a call as soon as it has its slot. The call ends at the timeout or when the signal aborts. Work that ignores its
   * own signal then continues without a slot.
   * @param permit - of `admit`, for one run.
   * @param work - begins synchronously unless it has to wait. Each attempt gets its own signal.
   * @throws the error of the work, or the reason of the signal.
   */
  async run<T>(permit: Permit, work: Work<T>, { signal, isFailure }: RunOptions<T>): Promise<RunEnd<T>> {
    const held = this.#permits.get(permit);
    if (!held) throw new Error(`Route ${this.#route}: a permit is good for one run; ask admit() for another`);
    this.#permits.delete(permit);
    const { timeoutMs, hedge } = this.#options;
    const deadline = new CallDeadline({ clock: this.#clock, signal, timeoutMs, sinceMs: held.admittedMs });
    try {
      if (!held.holdsToken) await this.#waitForTurn(held, deadline);
      if (deadline.signal.aborted) {
        this.#giveBack(held);
        return cutShort(deadline, false);
      }
      const startedMs = this.#begin();
      const race = { clock: this.#clock, hedge, isFailure, signal: deadline.signal };
      const verdict = await runHedged(work, race);
      const failed = verdict.kind === 'cut' ? deadline.timedOut || undefined : verdict.failed;
      this.#end(held, startedMs, failed);
      if (verdict.kind === 'thrown') throw verdict.error;
      return verdict.kind === 'value' ? { kind: 'done', value: verdict.value } : cutShort(deadline, true);
    } finally {
      deadline.dispose();
    }
  }

  /** Returns the current state, for metrics and pages. */
  state(): ProtectionState {
    const nowMs = this.#clock.monotonicMs();
    return {
      circuit: circuitAt(this.#circuit, nowMs).kind,
      running: this.#bulkhead.slotsTaken,
      queued: this.#bulkhead.queued,
      tokens: this.#bucket && tokensAt(this.#bucket, wholeUs(nowMs), this.#tokensHeld + this.#tokensAwaited),
    };
  }

  /** Waits for the slot, then for the token. */
  async #waitForTurn(held: Held, deadline: CallDeadline): Promise<void> {
    await deadline.wait(held.place.slot);
    this.#tokensAwaited += 1;
    let waitMs = this.#tokenWaitMs(this.#tokensHeld);
    while (waitMs > 0 && !deadline.signal.aborted) {
      await sleep(this.#clock, waitMs, deadline.signal);
      waitMs = this.#tokenWaitMs(this.#tokensHeld);
    }
    this.#tokensAwaited -= 1;
    if (deadline.signal.aborted) return;
    // Held at once: another call may be admitted before this one continues.
    this.#tokensHeld += 1;
    held.holdsToken = true;
  }

  /**
   * Returns the time until the next start may come. 0 means now.
   * @param ahead - number of starts that spend their tokens first.
   */
  #tokenWaitMs(ahead: number): number {
    if (!this.#bucket) return 0;
    const nowUs = wholeUs(this.#clock.monotonicMs());
    const waitUs = nextSlotUs(this.#bucket, nowUs, 1, ahead) - nowUs;
    return waitUs <= EARLY_US ? 0 : waitUs / 1_000;
  }

  #begin(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#tokensHeld -= 1;
    if (this.#bucket) this.#bucket = { ...this.#bucket, tatUs: tatAfterStart(this.#bucket, wholeUs(nowMs)) };
    return nowMs;
  }

  /** @param failed - undefined if the call says nothing about the work. */
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

  /** Returns the time until it is half open, or the mean duration of a call while probes run. */
  #circuitWaitMs(nowMs: number): number {
    const openMs = this.#options.circuitBreaker?.openMs ?? 0;
    if (this.#circuit.kind === 'open') return this.#circuit.untilMs - nowMs;
    return Math.min(openMs, this.#meanMs ?? openMs);
  }

  /** Returns the time until the next running call ends, if their ends are spread evenly. */
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
      this.#logger.warn(fields, 'Circuit opened after too many failures, calls are refused');
    else if (circuit.kind === 'half-open') this.#logger.info(fields, 'Circuit half open, probing');
    else this.#logger.info(fields, 'Circuit closed, probes succeeded');
  }
}

const wholeUs = (ms: number): number => Math.round(ms * 1_000);

/** Rounds up to whole milliseconds, at least 1: a refused caller must not return at once. */
const refused = (reason: Refusal['reason'], waitMs: number): Admission => ({
  refusal: { reason, retryAfterMs: Math.max(1, Math.ceil(waitMs)) },
});

function cutShort(deadline: CallDeadline, began: boolean): RunEnd<never> {
  if (!deadline.timedOut) throw deadline.signal.reason;
  return { kind: 'timeout', began };
}
