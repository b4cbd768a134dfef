/**
 * The generic cell rate algorithm in whole microseconds. A bucket is one number: the theoretical arrival time (TAT) of
 * the next start.
 *
 * ```
 *   a start of cost c may come when  TAT − (burst − c) × e ≤ now      e: the time that earns one start, 1 / rps
 *   and moves the TAT to             max(TAT, now) + c × e
 * ```
 * Unlike a fixed window it never allows two windows' worth of starts at their border, and it knows exactly when the
 * next start may come.
 */
export interface GcraBucket {
  /** Starts per second, above 0. */
  readonly rps: number;
  /** Cost that may start at once when the bucket is full, at least 1. */
  readonly burst: number;
  /** Theoretical arrival time in µs. 0, or any time in the past, is a full bucket. */
  readonly tatUs: number;
  /** Highest cost of one start, which bounds the debt that the bucket can have. */
  readonly costMax: number;
}

/** Returns the burst of a rate for which none is set: the starts of a tenth of a second, at least 1. */
export const defaultBurst = (rps: number): number => Math.max(1, Math.floor(rps / 10));

/** Returns the µs that earn one start. Rounded up: the rate is never above `rps`, and each start at most 1 µs late. */
export const emissionUs = (rps: number): number => Math.ceil(1_000_000 / rps);

/**
 * Returns when a start of this cost may come; at most `nowUs` means now. A cost above the burst waits for a full bucket.
 * @param heldCost - cost of starts that were admitted and will spend their tokens first.
 */
export function nextSlotUs(bucket: GcraBucket, nowUs: number, cost = 1, heldCost = 0): number {
  const emission = emissionUs(bucket.rps);
  const tat = clampedTat(bucket, nowUs) + heldCost * emission;
  return tat - (bucket.burst - Math.min(cost, bucket.burst)) * emission;
}

/** Returns the TAT after a start, which must be allowed now. */
export const tatAfterStart = (bucket: GcraBucket, nowUs: number, cost = 1): number =>
  clampedTat(bucket, nowUs) + cost * emissionUs(bucket.rps);

/**
 * Returns the TAT after a change of the rate. Spent starts stay spent, and a debt beyond the burst is kept. If the burst
 * shrinks, an empty bucket stays just empty: 1,000 starts at the old rate must not become minutes of silence.
 * @param bucket - with its old rate and burst.
 */
export function tatAfterRateChange(
  bucket: GcraBucket,
  nowUs: number,
  rps: number,
  burst = bucket.burst,
): number {
  const spent = (clampedTat(bucket, nowUs) - nowUs) / emissionUs(bucket.rps);
  const debt = Math.max(0, spent - bucket.burst);
  return nowUs + Math.ceil((Math.min(spent, bucket.burst, burst) + debt) * emissionUs(rps));
}

/** Returns the cost that may start now, with the fraction earned so far. For display. */
export function tokensAt(bucket: GcraBucket, nowUs: number, heldCost = 0): number {
  const spent = (clampedTat(bucket, nowUs) - nowUs) / emissionUs(bucket.rps) + heldCost;
  return Math.max(0, bucket.burst - spent);
}

/**
 * A TAT further ahead than any possible debt comes from a clock that has jumped back since. It counts as a full bucket:
 * clamped to the highest debt it would move along with the present and stop everything until the old time is reached.
 */
function clampedTat({ rps, burst, tatUs, costMax }: GcraBucket, nowUs: number): number {
  const debtMaxUs = (burst + costMax) * emissionUs(rps);
  return tatUs - nowUs > debtMaxUs ? nowUs : Math.max(nowUs, tatUs);
}
