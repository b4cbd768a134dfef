import type { Rng } from '@millrace/foundation';
import { throttleBackoff } from '../../src/rules/throttle-backoff.js';
import type { Controller } from './controllers.js';
import { EventQueue } from './event-queue.js';
import type { HiddenService } from './hidden-service.js';
import { idealOf, type Profile } from './profiles.js';

/** A run of a controller against a service in virtual time. */
export interface Run {
  readonly profile: Profile;
  readonly service: HiddenService;
  readonly controller: Controller;
  readonly rng: Rng;
  /** Calls under way at most. */
  readonly workers?: number;
  /** What the service asks for with every refusal. */
  readonly retryAfterMs?: number;
}

/** What came of a run. */
export interface Outcome {
  /** Part of what was possible, and part of the calls that was refused. */
  readonly goodput: number;
  readonly refused: number;
  readonly p99Ms: number;
  readonly calls: readonly { readonly atMs: number; readonly accepted: boolean }[];
  /** The most jobs that waited for their back-off at once. */
  readonly waitingMost: number;
}

/** Any time after 1970: rules must not depend on small numbers. */
const EPOCH_MS = 1_700_000_000_000;
const BACKOFF = { baseBackoffMs: 1000, maxBackoffMs: 120_000 };

/**
 * Workers that always have a job, started as the engine starts them: when the controller lets one through, a timer later at
 * most. A refused job waits for its back-off and then comes before the new ones.
 */
export function play({ profile, service, controller, rng, workers = 50, retryAfterMs }: Run): Outcome {
  const events = new EventQueue();
  const calls: { atMs: number; accepted: boolean }[] = [];
  const latencies: number[] = [];
  let [inFlight, done, waiting, waitingMost] = [0, 0, 0, 0];
  let wakeAtMs = Number.POSITIVE_INFINITY;
  const storeMs = () => EPOCH_MS + events.nowMs;

  const settle = (startedMs: number, accepted: boolean) => {
    if (accepted) {
      done += 1;
      latencies.push(storeMs() - startedMs);
      controller.accepted(storeMs(), startedMs, inFlight);
    } else {
      controller.refused(storeMs(), startedMs, retryAfterMs);
      waiting += 1;
      waitingMost = Math.max(waitingMost, waiting);
      const facts = { nonReadyCount: waiting, groupRps: controller.ratePerSecond(storeMs()), retryAfterMs };
      const { delayMs } = throttleBackoff({ ...facts, random: rng.next() }, BACKOFF);
      events.after(delayMs, () => {
        waiting -= 1;
        startAll();
      });
    }
    inFlight -= 1;
    startAll();
  };
  const start = () => {
    inFlight += 1;
    controller.started(storeMs());
    const startedMs = storeMs();
    events.after(1 + rng.next(), () => {
      const { accepted, afterMs } = service.call(events.nowMs);
      calls.push({ atMs: events.nowMs, accepted });
      events.after(afterMs, () => settle(startedMs, accepted));
    });
  };
  const startAll = () => {
    while (inFlight < workers) {
      const atMs = controller.nextStartMs(storeMs(), inFlight) - EPOCH_MS;
      if (atMs > events.nowMs) {
        wakeAt(atMs);
        return;
      }
      start();
    }
  };
  // Timers are late by a millisecond or two.
  const wakeAt = (atMs: number) => {
    const late = atMs + 0.2 + 1.5 * rng.next();
    if (late >= wakeAtMs) return;
    wakeAtMs = late;
    events.after(late - events.nowMs, () => {
      if (wakeAtMs === late) wakeAtMs = Number.POSITIVE_INFINITY;
      startAll();
    });
  };
  startAll();
  events.runUntil(profile.endMs);
  latencies.sort((a, b) => a - b);
  const refusals = calls.filter(({ accepted }) => !accepted).length;
  return {
    goodput: done / idealOf(profile),
    refused: refusals / calls.length,
    p99Ms: latencies[Math.floor(0.99 * latencies.length)] ?? 0,
    calls,
    waitingMost,
  };
}
