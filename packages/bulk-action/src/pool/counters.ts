import { type Histogram, newHistogram } from '../rules/histogram.js';

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
  /** Groups whose counters were wrong: anything but 0 is a defect or somebody's hand. */
  repaired: number;
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
  repaired: 0,
});

/** How long it took, in the pool of this process: plain counts, so that a job costs no object. */
export interface PoolHistograms {
  /** Tries whose settlement the store accepted. */
  readonly durations: Readonly<Histogram>;
  /** From when a job could have started to when it did, every try. */
  readonly waits: Readonly<Histogram>;
}

/** The same while it is counted. */
export interface GrowingHistograms extends PoolHistograms {
  readonly durations: Histogram;
  readonly waits: Histogram;
}

/** Nothing counted yet. */
export const newHistograms = (): GrowingHistograms => ({ durations: newHistogram(), waits: newHistogram() });

/**
 * What has been counted so far, for somebody who must not see it grow.
 * @param histograms - looked at only.
 */
export const copyOfHistograms = ({ durations, waits }: PoolHistograms): PoolHistograms => ({
  durations: copyOf(durations),
  waits: copyOf(waits),
});

const copyOf = (histogram: Readonly<Histogram>): Histogram => ({
  ...histogram,
  buckets: [...histogram.buckets],
});
