import { sleep } from '@millrace/foundation';
import type { LeasedJob } from '../../src/lease.js';
import type { QueuesView } from '../../src/model.js';
import type { BulkStore } from '../../src/ports.js';
import type { VirtualClock } from './virtual-clock.js';

/** One start: a job handed over by reserve. */
export interface Start {
  /** Store time in milliseconds, whole microseconds. */
  readonly at: number;
  readonly job: LeasedJob;
  /** When the try was settled; undefined while it runs. */
  endedAt: number | undefined;
  readonly instanceId: string;
}

/** What was seen at the ports of a store. */
export interface Recording {
  readonly starts: Start[];
  /** Jobs sent to non-ready for want of a token. */
  rateDenied: number;
  /** Calls of each step. */
  readonly calls: Map<string, number>;
}

/** How a store is watched. */
export interface RecordOptions {
  readonly clock: VirtualClock;
  /** Virtual time of every call: half before the step, half after it. */
  readonly roundTripMs?: number;
  /** Looks at the queues after every step. */
  readonly onStep?: ((step: string, queues: QueuesView) => void) | undefined;
}

/** The same store, with every start written down at the instant of the reserve step. */
export function recorded(
  inner: BulkStore,
  { clock, roundTripMs = 0, onStep }: RecordOptions,
): { readonly store: BulkStore; readonly recording: Recording } {
  const recording: Recording = { starts: [], rateDenied: 0, calls: new Map() };
  const running = new Map<number, Start>();
  const step = async <T>(name: string, call: () => Promise<T>, note?: (answer: T) => void): Promise<T> => {
    if (roundTripMs > 0) await sleep(clock, roundTripMs / 2);
    recording.calls.set(name, (recording.calls.get(name) ?? 0) + 1);
    const asked = call();
    // The memory store has done its step in the call itself: nothing comes between that and this look.
    const queues = onStep && inner.views.queues();
    const answer = await asked;
    note?.(answer);
    if (queues) onStep(name, await queues);
    if (roundTripMs > 0) await sleep(clock, roundTripMs / 2);
    return answer;
  };
  // The memory store takes its time in the call itself, before the first await.
  const now = () => Math.floor(clock.monotonicMs() * 1000) / 1000;
  const store: BulkStore = {
    ...inner,
    views: inner.views,
    start: () => inner.start(),
    stop: () => inner.stop(),
    gate: {
      ...inner.gate,
      fetch: (max) => step('fetch', () => inner.gate.fetch(max)),
      dispatch: (max) => step('dispatch', () => inner.gate.dispatch(max)),
    },
    leases: {
      ...inner.leases,
      reserve: (request) =>
        step(
          'reserve',
          () => inner.leases.reserve(request),
          ({ jobs, rateDenied }) => {
            recording.rateDenied += rateDenied;
            const { instanceId } = request;
            for (const job of jobs) {
              const start: Start = { at: now(), job, endedAt: undefined, instanceId };
              recording.starts.push(start);
              running.set(job.token, start);
            }
          },
        ),
      settle: (settlements) =>
        step(
          'settle',
          () => inner.leases.settle(settlements),
          () => {
            for (const { token } of settlements) {
              const start = running.get(token);
              if (start) start.endedAt = now();
              running.delete(token);
            }
          },
        ),
    },
  };
  return { store, recording };
}
