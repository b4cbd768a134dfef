import type { Start } from './recorded-store.js';

/** Jain's index of fairness: 1 when all are equal, 1/n when one has everything. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  const squares = values.reduce((total, value) => total + value * value, 0);
  return sum ** 2 / (values.length * squares);
}

/** The value below which so great a part of all lies (nearest rank). */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

/** Adds up by name. */
export function totals<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  amountOf: (item: T) => number = () => 1,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const item of items) {
    const name = nameOf(item);
    sums.set(name, (sums.get(name) ?? 0) + amountOf(item));
  }
  return sums;
}

/** What one takes part in the fair order with. */
export interface Contender {
  readonly name: string;
  readonly weight: number;
  /** The highest cost of its jobs. */
  readonly costMax: number;
}

/** A turn in the fair order. */
export interface Turn {
  readonly name: string;
  readonly cost: number;
}

/**
 * The invariant I6 over every interval of an order in which all had work waiting: for any two,
 * |W_i/w_i − W_j/w_j| ≤ c_i/w_i + c_j/w_j.
 * @returns the worst pair: how far apart it drifted as a part of its bound; at most 1 when the invariant holds.
 */
export function worstDrift(order: readonly Turn[], contenders: readonly Contender[]): number {
  let worst = 0;
  for (const [index, one] of contenders.entries()) {
    for (const other of contenders.slice(index + 1)) {
      let [ahead, least, most] = [0, 0, 0];
      for (const { name, cost } of order) {
        if (name === one.name) ahead += cost / one.weight;
        else if (name === other.name) ahead -= cost / other.weight;
        else continue;
        least = Math.min(least, ahead);
        most = Math.max(most, ahead);
      }
      const bound = one.costMax / one.weight + other.costMax / other.weight;
      worst = Math.max(worst, (most - least) / bound);
    }
  }
  return worst;
}

const WINDOW_MS = 1000;

/** The highest cost that started in any sliding second. */
export function busiestSecond(starts: readonly Start[]): number {
  let [sum, most, oldest] = [0, 0, 0];
  for (const { at, job } of starts) {
    sum += job.cost;
    while ((starts[oldest] as Start).at <= at - WINDOW_MS) {
      sum -= (starts[oldest] as Start).job.cost;
      oldest += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}

/** The most tries that ran at once. */
export function mostAtOnce(tries: readonly Pick<Start, 'at' | 'endedAt'>[]): number {
  const changes = tries.flatMap(({ at, endedAt = Number.POSITIVE_INFINITY }) => [
    { at, by: 1 },
    { at: endedAt, by: -1 },
  ]);
  // At the same instant a slot is given back before it is taken again.
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

/** Worker time spent on each within an interval; a try that runs on counts up to its end. */
export function workerTime(
  starts: readonly Start[],
  nameOf: (start: Start) => string,
  fromMs: number,
  toMs: number,
): Map<string, number> {
  return totals(starts, nameOf, ({ at, endedAt }) =>
    Math.max(0, Math.min(toMs, endedAt ?? toMs) - Math.max(fromMs, at)),
  );
}

export const tenantOf = ({ job }: Start): string => job.tenantId;
export const groupOf = ({ job }: Start): string => job.key;
