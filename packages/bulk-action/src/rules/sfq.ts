/**
 * Start-time fair queueing: everybody has a finish tag F; the least start tag S = max(V, F) is served next, V moves to
 * S, and F = S + charge / weight. The same functions run over tenants and over the groups of a tenant.
 *
 * For any two with work waiting, |W_i/w_i − W_j/w_j| ≤ c_i/w_i + c_j/w_j over any interval, whatever the speed.
 */
export interface FairClock {
  /** V: the start tag of what was served last; never goes back. */
  virtual: number;
  /** One higher whenever nobody wanted anything: tags of an older epoch count as 0. */
  epoch: number;
}

/** The finish tag of a tenant or group, and the epoch it belongs to. */
export interface FairTag {
  finish: number;
  epoch: number;
}

/**
 * The start tag of somebody who has work again: no credit for having been away.
 * @param clock - of the level.
 * @param tag - of the one who comes.
 */
export const startTag = (clock: FairClock, tag: FairTag): number =>
  Math.max(clock.virtual, tag.epoch === clock.epoch ? tag.finish : 0);

/**
 * Serves one job: moves V and gives the finish tag, which is also the start tag of the next job.
 * @param clock - of the level; changed.
 * @param tag - of the one who is served; changed.
 * @param start - its start tag.
 * @param charge - what the job counts.
 * @param weight - of the one who is served.
 */
export function serve(clock: FairClock, tag: FairTag, start: number, charge: number, weight: number): void {
  clock.virtual = Math.max(clock.virtual, start);
  tag.epoch = clock.epoch;
  tag.finish = start + charge / weight;
}

/**
 * By how much tags move when a charge turns out to have been another one; 0 for a charge of an older epoch, whose
 * tags count no more.
 * @param clock - of the level.
 * @param epoch - in which the charge was made.
 * @param charged - what was charged.
 * @param real - what it should have been, ≥ 0: a credit never exceeds the charge.
 * @param weight - of the one who was charged.
 */
export const correction = (
  clock: FairClock,
  epoch: number,
  charged: number,
  real: number,
  weight: number,
): number => (epoch === clock.epoch ? (Math.max(0, real) - charged) / weight : 0);

/**
 * The finish tag after a change of weight: what is owed in work stays the same, so the change acts at once on work
 * already queued.
 * @param clock - of the level.
 * @param finish - the tag.
 * @param before - the old weight.
 * @param after - the new weight.
 */
export const reweigh = (clock: FairClock, finish: number, before: number, after: number): number =>
  clock.virtual + (finish - clock.virtual) * (before / after);

/**
 * Ends a busy period: old tags count as 0 from now on.
 * @param clock - of the level; changed.
 */
export function endEpoch(clock: FairClock): void {
  clock.virtual = 0;
  clock.epoch += 1;
}

/**
 * What a group counts against others.
 * @param weight - its own.
 * @param priorityWeight - of its level.
 * @param alpha - how much nearly finished groups are preferred.
 * @param done - its jobs that have ended.
 * @param total - its jobs.
 */
export const effectiveWeight = (
  weight: number,
  priorityWeight: number,
  alpha: number,
  done: number,
  total: number,
): number => weight * priorityWeight * (1 + (total > 0 ? (alpha * done) / total : 0));
