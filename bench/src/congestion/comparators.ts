/** How many calls at once, decided by what became of earlier ones. Times in ms. */
export interface ConcurrencyControl {
  readonly name: string;
  readonly limit: number;
  accepted(nowMs: number, tookMs: number): void;
  refused(nowMs: number, startedMs: number): void;
}

/** One more with every round of successes, half of them after a refusal. */
export function aimdAlone(): ConcurrencyControl {
  let limit = 10;
  let cutAtMs = -1;
  return {
    name: 'AIMD alone',
    get limit() {
      return Math.floor(limit);
    },
    accepted() {
      limit += 1 / limit;
    },
    refused(nowMs, startedMs) {
      if (startedMs < cutAtMs) return;
      cutAtMs = nowMs;
      limit = Math.max(1, limit / 2);
    },
  };
}

const ROUND_MIN = 10;

/** By the calls that wait in the service: fewer than 3 grow it by one, more than 6 shrink it by one, in every round. */
export function vegasAlone(): ConcurrencyControl {
  let limit = 10;
  let shortestMs = Number.POSITIVE_INFINITY;
  let cutAtMs = -1;
  let round: number[] = [];
  return {
    name: 'Vegas alone',
    get limit() {
      return Math.floor(limit);
    },
    accepted(_nowMs, tookMs) {
      shortestMs = Math.min(shortestMs, tookMs);
      round.push(tookMs);
      if (round.length < Math.max(ROUND_MIN, limit)) return;
      const median = round.toSorted((a, b) => a - b)[round.length >> 1] ?? shortestMs;
      const queued = limit * (1 - shortestMs / median);
      if (queued < 3) limit += 1;
      if (queued > 6) limit = Math.max(1, limit - 1);
      round = [];
    },
    refused(nowMs) {
      if (nowMs - cutAtMs < 1000) return;
      cutAtMs = nowMs;
      limit = Math.max(1, limit * 0.9);
    },
  };
}
