/** What the pool of this process has counted since it was made; only settlements that the store accepted count. */
export interface PoolCounters {
  success: number;
  /** Jobs failed for good. */
  failed: number;
  /** Tries that timed out. */
  timeouts: number;
  /** Tries that come again and spend a retry. */
  retries: number;
  deadLetters: number;
  /** Starts put off for want of a rate token. */
  rateDenied: number;
  /** Results that came after the lease was lost. */
  lateAcks: number;
  orphansRecovered: number;
}

/** All at 0. */
export const newCounters = (): PoolCounters => ({
  success: 0,
  failed: 0,
  timeouts: 0,
  retries: 0,
  deadLetters: 0,
  rateDenied: 0,
  lateAcks: 0,
  orphansRecovered: 0,
});
