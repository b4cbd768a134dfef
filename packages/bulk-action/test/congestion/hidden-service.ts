import type { Rng } from '@millrace/foundation';

/** What a call comes to: accepted or refused, and after how long the answer is there. */
interface Answer {
  readonly accepted: boolean;
  readonly afterMs: number;
}

/** A called service whose capacity nobody is told. */
export interface HiddenService {
  readonly name: string;
  call(atMs: number): Answer;
}

/** Calls per second that a service takes, by time. */
export type Capacity = (atMs: number) => number;

/** How long the work itself takes, and a refusal. */
export interface ServiceTimes {
  workMs(): number;
  refusalMs(): number;
}

/** Refuses at once what `takes` does not take. */
const refusing = (name: string, times: ServiceTimes, takes: (atMs: number) => boolean): HiddenService => ({
  name,
  call(atMs) {
    const accepted = takes(atMs);
    return { accepted, afterMs: accepted ? times.workMs() : times.refusalMs() };
  },
});

/** Counts what it took in the last second. */
export function slidingWindow(capacity: Capacity, times: ServiceTimes): HiddenService {
  const taken: number[] = [];
  return refusing('sliding window', times, (atMs) => {
    while (taken.length > 0 && (taken[0] as number) <= atMs - 1000) taken.shift();
    if (taken.length >= capacity(atMs)) return false;
    taken.push(atMs);
    return true;
  });
}

/** Counts what it took since the last full second. */
export function fixedWindow(capacity: Capacity, times: ServiceTimes): HiddenService {
  let window = -1;
  let taken = 0;
  return refusing('fixed window', times, (atMs) => {
    const present = Math.floor(atMs / 1000);
    if (present !== window) taken = 0;
    window = present;
    if (taken >= capacity(atMs)) return false;
    taken += 1;
    return true;
  });
}

/** Fills by its capacity and holds so many seconds of it. */
export function leakyBucket(capacity: Capacity, times: ServiceTimes, holdsSeconds = 0.1): HiddenService {
  let tokens = capacity(0) * holdsSeconds;
  let filledAt = 0;
  return refusing('leaky bucket', times, (atMs) => {
    const perSecond = capacity(atMs);
    const full = Math.max(1, perSecond * holdsSeconds);
    tokens = Math.min(full, tokens + ((atMs - filledAt) * perSecond) / 1000);
    filledAt = atMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  });
}

/** Refuses nothing: everybody waits for everybody before. */
export function queueing(capacity: Capacity, times: ServiceTimes): HiddenService {
  let freeAt = 0;
  return {
    name: 'queue',
    call(atMs) {
      freeAt = Math.max(freeAt, atMs) + 1000 / capacity(atMs);
      return { accepted: true, afterMs: freeAt - atMs + times.workMs() };
    },
  };
}

/** Work of about this length, and refusals within milliseconds. */
export const timesOf = (rng: Rng, meanMs: number, spread = 0.3): ServiceTimes => ({
  workMs: () => meanMs * (1 - spread + 2 * spread * rng.next()),
  refusalMs: () => 3 + 4 * rng.next(),
});
