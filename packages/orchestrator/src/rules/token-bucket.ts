/**
 * The generic cell rate algorithm on floating milliseconds: a bucket is one number, the theoretical arrival time (TAT) of
 * the next start. bulk-action has the same rule in whole microseconds, because Lua needs it so; a test compares the two.
 */
export interface TokenBucket {
  /** Starts per second, > 0. */
  readonly rps: number;
  /** Starts that may come at once when the bucket is full, ≥ 1. */
  readonly burst: number;
  /** In the past when the bucket is full. */
  readonly tatMs: number;
}

/**
 * A start may come this much early: sums of fractions stray from the whole milliseconds that a caller was told to wait.
 * It does not add up, since the next TAT is reckoned from the last one and not from the start.
 */
const EARLY_MS = 0.001;

/**
 * The burst of a rate that was given none: what a tenth of a second allows.
 * @param rps - starts per second.
 */
export const defaultBurst = (rps: number): number => Math.max(1, Math.floor(rps / 10));

/** A full bucket. */
export const fullBucket = ({ rps, burst }: Omit<TokenBucket, 'tatMs'>): TokenBucket => ({
  rps,
  burst,
  tatMs: Number.NEGATIVE_INFINITY,
});

const emissionMs = ({ rps }: TokenBucket): number => 1000 / rps;

/**
 * How long until the next start may come; 0 means now.
 * @param held - starts that were let through and will spend their tokens first.
 */
export function tokenWaitMs(bucket: TokenBucket, nowMs: number, held: number): number {
  const emission = emissionMs(bucket);
  const tatMs = Math.max(nowMs, bucket.tatMs) + held * emission;
  const waitMs = tatMs - (bucket.burst - 1) * emission - nowMs;
  return waitMs <= EARLY_MS ? 0 : waitMs;
}

/** The bucket after a start. */
export const spendToken = (bucket: TokenBucket, nowMs: number): TokenBucket => ({
  ...bucket,
  tatMs: Math.max(nowMs, bucket.tatMs) + emissionMs(bucket),
});

/**
 * How many starts may come now, for people: with the fraction that has grown so far.
 * @param held - starts that were let through and will spend their tokens first.
 */
export function tokensAt(bucket: TokenBucket, nowMs: number, held: number): number {
  const spent = (Math.max(nowMs, bucket.tatMs) - nowMs) / emissionMs(bucket) + held;
  return Math.max(0, bucket.burst - spent);
}
