import {
  bytesBeyond,
  type Clock,
  durationOption,
  encodeJson,
  printable,
  type Rng,
  resolveOptions,
  sleep,
  systemClock,
  systemRng,
  toWorkError,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { ResolvedBulkActionConfig } from './options.js';
import type { BulkStore } from './ports.js';
import { optionInvalid } from './refusals.js';
import { idInvalid } from './rules/ids.js';

/** What an IdempotencyService takes from outside. */
export interface IdempotencyServiceDependencies {
  readonly store: Pick<BulkStore, 'once'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'reliableQueue'>;
  /** Times the renewal of leases (the machine's). */
  readonly clock?: Clock | undefined;
  /** Tells callers apart. */
  readonly rng?: Rng | undefined;
}

/** What the function of `runOnce` is given. */
export interface OnceContext {
  /** Aborts when the lease is lost: somebody else may run the same from then on. */
  readonly signal: AbortSignal;
}

/** What a caller holds while its function runs. */
interface Lease {
  readonly key: string;
  readonly token: string;
  readonly leaseMs: number;
  /** When it was asked for, by the monotonic clock: it began no earlier. */
  readonly askedAt: number;
}

const FINISHES_PER_LEASE = 10;
const KEY_LENGTH_MAX = 512;
const RESULT_BYTES_MAX = 65_536;
// A lone surrogate has no UTF-8 form: two keys would become one on their way to a store.
const KEY = /^\P{Cs}+$/u;

/** How a result is stored: what it is in one character, then the value. */
const VALUE = 'v';
const NOTHING = 'n';
const TOO_LARGE = 'l';
const NO_JSON = 'j';

/**
 * Lets an effect happen once per key, over all processes.
 *
 * A caller holds a lease while its function runs. A result is kept for `reliableQueue.idempotencyTtlMs`; a function that
 * throws leaves nothing behind and may run again. When a process dies, its lease expires and the next caller runs the
 * function again: at least once, and exactly once as far as nobody dies.
 */
export class IdempotencyService {
  readonly #once: BulkStore['once'];
  readonly #ttlMs: number;
  readonly #leaseMs: number;
  readonly #clock: Clock;
  readonly #rng: Rng;

  /** @param dependencies - store and configuration, clock, randomness. */
  constructor({ store, config, clock = systemClock, rng = systemRng() }: IdempotencyServiceDependencies) {
    this.#once = store.once;
    this.#ttlMs = config.reliableQueue.idempotencyTtlMs;
    this.#leaseMs = config.reliableQueue.ackTimeoutMs;
    this.#clock = clock;
    this.#rng = rng;
  }

  /**
   * Runs a function unless it has run under this key.
   *
   * Whoever loses the lease while the function runs (a process that stood still) gets its own result, but the result
   * that is kept is that of whoever holds the lease now. A result that cannot be kept fails the call and every later
   * one, without running the function again: its effect has happened.
   * @param key - names the effect, 1 to 512 characters.
   * @param fn - does it; what it returns must be JSON of at most 64 KiB, or undefined.
   * @param options - `leaseMs`: how long after a crash the next caller has to wait (`reliableQueue.ackTimeoutMs`).
   * @returns what the function returned, now or when it ran (then as JSON gives it back).
   * @throws MillraceError `IDEMPOTENCY_BUSY` (retryable) while another caller runs it, `IDEMPOTENCY_RESULT_TOO_LARGE`,
   *   `PAYLOAD_INVALID` for a result that is no JSON, `ID_INVALID`, `OPTION_INVALID`; `BACKEND_UNAVAILABLE` when the store was away for longer
   *   than the lease after the function had run; what the function throws.
   */
  async runOnce<T>(
    key: string,
    fn: (context: OnceContext) => Promise<T> | T,
    options: { readonly leaseMs?: number | undefined } = {},
  ): Promise<T> {
    const shown = checkKey(key);
    if (typeof fn !== 'function') throw optionInvalid('runOnce', 'fn', 'a function', fn);
    const rules = { leaseMs: durationOption({ min: 3 }) };
    const { leaseMs } = resolveOptions<{ leaseMs: number }>(
      { owner: 'runOnce', defaults: { leaseMs: this.#leaseMs }, rules },
      options as never,
    );
    const token = this.#token();
    const askedAt = this.#clock.monotonicMs();
    const answer = await this.#once.begin(key, token, leaseMs);
    if (answer.kind === 'done') return decodeResult<T>(shown, answer.result);
    if (answer.kind === 'busy') {
      const retryAfterMs = answer.retryInMs;
      throw ERRORS.create('IDEMPOTENCY_BUSY', { key: shown, retryAfterMs }, { retryAfterMs });
    }
    const value = await this.#run({ key, token, leaseMs, askedAt }, fn);
    const stored = encodeResult(value);
    await this.#finish({ key, token, leaseMs, askedAt }, stored);
    if (!isKept(stored)) decodeResult(shown, stored);
    return value;
  }

  async #run<T>(lease: Lease, fn: (context: OnceContext) => Promise<T> | T): Promise<T> {
    const lost = new AbortController();
    const stopRenewing = this.#keepLease(lease, () => lost.abort());
    try {
      return await fn({ signal: lost.signal });
    } catch (error) {
      // What the function threw matters more than a store that cannot take the lease back: that one expires.
      await this.#once.release(lease.key, lease.token).catch(() => {});
      throw error;
    } finally {
      stopRenewing();
    }
  }

  /** The effect has happened: a store that is away for less than a lease must not let it happen again. */
  async #finish({ key, token, leaseMs }: Lease, stored: string): Promise<void> {
    const until = this.#clock.monotonicMs() + leaseMs;
    for (;;) {
      try {
        await this.#once.finish(key, token, stored, this.#ttlMs);
        return;
      } catch (error) {
        if (!toWorkError(error).retryable || this.#clock.monotonicMs() >= until) throw error;
        await sleep(this.#clock, Math.floor(leaseMs / FINISHES_PER_LEASE));
      }
    }
  }

  #keepLease({ key, token, leaseMs, askedAt }: Lease, onLost: () => void): () => void {
    let ended = false;
    let cancel = () => {};
    let heldUntil = askedAt + leaseMs;
    const renew = async () => {
      const sentAt = this.#clock.monotonicMs();
      // A store that fails is asked again after the next third, for as long as the lease may last.
      const held = await this.#once.renew(key, token, leaseMs).catch(() => undefined);
      if (ended) return;
      if (held) heldUntil = sentAt + leaseMs;
      if (held === false || this.#clock.monotonicMs() >= heldUntil) onLost();
      else schedule();
    };
    const schedule = () => {
      cancel = this.#clock.setTimer(Math.floor(leaseMs / 3), () => void renew(), { unref: true });
    };
    schedule();
    return () => {
      ended = true;
      cancel();
    };
  }

  #token(): string {
    const part = () => this.#rng.integer(0, 2 ** 52).toString(36);
    return `${part()}-${part()}`;
  }
}

function checkKey(key: unknown): string {
  if (typeof key === 'string' && key.length <= KEY_LENGTH_MAX && KEY.test(key)) return printable(key);
  throw idInvalid('key', `a text of 1 to ${KEY_LENGTH_MAX} characters`, key);
}

function encodeResult(value: unknown): string {
  if (value === undefined) return NOTHING;
  const encoded = encodeJson(value);
  if ('reason' in encoded) return NO_JSON + encoded.reason;
  const bytes = bytesBeyond(encoded.json, RESULT_BYTES_MAX);
  return bytes === undefined ? VALUE + encoded.json : TOO_LARGE + bytes;
}

const isKept = (stored: string) => stored.startsWith(VALUE) || stored.startsWith(NOTHING);

function decodeResult<T>(key: string, stored: string): T {
  const rest = stored.slice(1);
  switch (stored[0]) {
    case TOO_LARGE:
      throw ERRORS.create('IDEMPOTENCY_RESULT_TOO_LARGE', { key, bytes: rest, max: RESULT_BYTES_MAX });
    case NO_JSON:
      throw ERRORS.create('PAYLOAD_INVALID', { job: `the result of ${key}`, reason: rest });
    case NOTHING:
      return undefined as T;
    default:
      return JSON.parse(rest) as T;
  }
}
