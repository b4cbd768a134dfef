/** What decides how much may be ready at once. */
export interface ReadyBoundFacts {
  /** Worker slots of live instances, and those that wait for a job. */
  readonly liveSlots: number;
  readonly waitingSlots: number;
  /** Starts per second over the last 2 s. */
  readonly startsPerSecond: number;
  /** None, and no starts: the drain is unknown. Some, and no starts: long jobs, and the drain is 0. */
  readonly inFlight: number;
  readonly readyHorizonMs: number;
  readonly fetchBatchSize: number;
  readonly readyQueueMaxSize: number;
}

/**
 * How much of the horizon is filled. The horizon is what a newcomer may lose in ready; n jobs of random length take up to
 * twice their mean to drain, so half of it keeps 99 of 100 within the whole. 16 slots, exponential jobs of 50 ms, a small
 * tenant at half of its share beside a whale: p99 wait 100 to 103 ms with the whole horizon filled, 68 to 75 with half of
 * it; the bar is 100. The Fetcher is woken by every reserve, so a shorter queue lets no worker idle.
 */
const HORIZON_FILL = 0.5;

/**
 * How many jobs ready may hold: what waiting workers take at once, and what is drained within the horizon. A longer
 * ready queue is a FIFO that undoes fairness; a shorter one lets workers idle.
 * @param facts - see ReadyBoundFacts.
 */
export function readyBound(facts: ReadyBoundFacts): number {
  const { liveSlots, waitingSlots, startsPerSecond, inFlight, readyHorizonMs, fetchBatchSize } = facts;
  const wanted =
    startsPerSecond > 0 || inFlight > 0
      ? waitingSlots + Math.ceil((startsPerSecond * readyHorizonMs * HORIZON_FILL) / 1000)
      : Math.max(fetchBatchSize, 2 * liveSlots);
  // At least one: with every slot busy on long jobs and no drain left, the next one to free up must find a job.
  return Math.min(facts.readyQueueMaxSize, Math.max(1, wanted));
}
