/**
 * The generic cell rate algorithm in whole microseconds: a bucket is one number, the theoretical arrival time (TAT) of
 * the next start. Unlike a fixed window it never lets two windows' worth through at their border, and it says exactly
 * when the next start may come.
 */
export interface Bucket {
  /** Starts per second, > 0. */
  readonly rps: number;
  /** Cost that may start at once when the bucket is full, ≥ 1. */
  readonly burst: number;
  /** µs; in the past when the bucket is full. */
  readonly tatUs: number;
  /** The highest cost of one start: bounds the debt that a bucket can really have. */
  readonly costMax: number;
}

/**
 * The burst of a rate that was given none.
 * @param rps - starts per second.
 */
export const defaultBurst = (rps: number): number => Math.max(1, Math.floor(rps / 10));

/** Rounded up: the kept rate is never above the configured one, and below it by at most 1 µs per start. */
export const emissionUs = (rps: number): number => Math.ceil(1_000_000 / rps);

/**
 * A TAT further ahead than any debt can be came from a clock that has jumped back since, and is read as a full bucket.
 * Read as the highest debt it would move along with the present and freeze everything until the old clock is reached.
 */
function clampedTat({ rps, burst, tatUs, costMax }: Bucket, nowUs: number): number {
  const debtMaxUs = (burst + costMax) * emissionUs(rps);
  return tatUs - nowUs > debtMaxUs ? nowUs : Math.max(nowUs, tatUs);
}

/**
 * When a start of this cost may come; at most `nowUs` means now. A cost above the burst waits for a full bucket.
 * @param bucket - the bucket.
 * @param nowUs - the present.
 * @param cost - of the start.
 * @param heldCost - cost of starts that were let through and will spend their tokens first.
 */
export function nextSlotUs(bucket: Bucket, nowUs: number, cost: number, heldCost: number): number {
  const emission = emissionUs(bucket.rps);
  const tat = clampedTat(bucket, nowUs) + heldCost * emission;
  return tat - (bucket.burst - Math.min(cost, bucket.burst)) * emission;
}

/**
 * The TAT after a start that was allowed.
 * @param bucket - the bucket.
 * @param nowUs - the present.
 * @param cost - of the start.
 */
export function spend(bucket: Bucket, nowUs: number, cost: number): number {
  return clampedTat(bucket, nowUs) + cost * emissionUs(bucket.rps);
}

/**
 * The TAT after a change of the rate: starts that were spent stay spent, and a debt beyond the burst stays what it was.
 * An empty bucket stays just empty when the burst shrinks: 1,000 starts at the old rate must not become minutes of
 * silence at the new one.
 * @param bucket - the bucket with its old rate.
 * @param nowUs - the present.
 * @param rps - the new rate.
 * @param burst - the new burst, the old one unless given.
 */
export function rescale(bucket: Bucket, nowUs: number, rps: number, burst = bucket.burst): number {
  const spent = (clampedTat(bucket, nowUs) - nowUs) / emissionUs(bucket.rps);
  const debt = Math.max(0, spent - bucket.burst);
  return nowUs + Math.ceil((Math.min(spent, bucket.burst, burst) + debt) * emissionUs(rps));
}
