import type { Instance, Queues, ServerFacts, StatPoint } from '../../src/cli/doctor/facts.js';

/** When the rules of these tests look. */
export const NOW = Date.parse('2026-01-01T12:00:00Z');
/** A time before that. */
export const ago = (ms: number) => new Date(NOW - ms).toISOString();

const queues = (more: Partial<Queues> = {}): Queues => ({
  ...{ tenants: 1, groups: 1, parkedGroups: 0, lane: 0, ready: 0, readyBound: 100, nonReady: 0 },
  ...{ nonReadyByReason: {}, inFlight: 0, deadLetters: 0, liveSlots: 4, waitingSlots: 4 },
  ...{ startsPerSecond: 0, oldestWaitingMs: 0, congestionRates: {} },
  ...more,
});

/** An instance that is well. */
export const instance = (more: Partial<Instance> = {}): Instance => ({
  ...{ instanceId: 'a', bulkInstanceId: 'b', role: 'all', version: '1.0.0', host: 'h', pid: 7 },
  ...{ alive: true, stopping: false, stoppingSince: null, gracePeriodMs: 30_000 },
  ...{ startedAt: ago(60_000), seenAt: ago(0), workerCount: 4, wantedWorkers: null },
  ...{ processors: [], dags: [], routes: [], outboxConcurrency: null, backends: [], memory: null },
  busy: { jobs: 0, tasks: 0, requests: 0, streams: 0 },
  pool: { fetcherRunning: true, jobTimeoutMs: 30_000, fetchIntervalMs: 200, fetchBatchSize: 20 },
  ...more,
});

/** A point of ten seconds. */
export const point = (deadLetters: number, done: number, waiting = 0): StatPoint =>
  ({
    jobs: { deadLettersPerSecond: deadLetters / 10, donePerSecond: done / 10, timedOutPerSecond: 0 },
    queues: { lane: waiting, ready: 0 },
  }) as StatPoint;

/** A server that is well, but for its queues at two looks. */
export const facts = (
  before: Partial<Queues>,
  now: Partial<Queues>,
  more: Partial<ServerFacts> = {},
): ServerFacts => ({
  ...{ url: 'http://server', hasKey: true, nowMs: NOW, isEmbedded: false, apartMs: 1000, pointMs: 10_000 },
  ...{ held: [], running: [], points: [], signatures: [], deadTypes: [], newestLetters: [], resources: [] },
  ...{ queues: [queues(before), queues(now)], instances: [instance()], payloads: undefined },
  ...more,
});
/** The same where nothing changes between the looks. */
export const still = (look: Partial<Queues>, more: Partial<ServerFacts> = {}) => facts(look, look, more);
/** A job that waits behind these gates. */
export const heldBy = (...gates: string[]) => [
  {
    groupId: 'g',
    jobId: 'j',
    processorType: 'mail',
    gates: gates.map((gate) => ({ gate, detail: `by ${gate}` })),
  },
];
