/** A fault, in the words of whoever asks "what if …", and the scenarios that bring it about. */
export interface Fault {
  readonly fault: string;
  /** At least one; see `scenarios`. */
  readonly scenarios: readonly string[];
}

/** Every fault that a run of all scenarios plays. docs/chaos.md has the same table; a test compares them. */
export const FAULTS: readonly Fault[] = [
  {
    fault: 'worker killed −9 in the middle of a job',
    scenarios: ['bulk-workers-killed', 'outbox-exactly-once', 'orchestrator-kills', 'server-campaign'],
  },
  { fault: 'worker killed −9 at every named step', scenarios: ['bulk-steps-killed', 'orchestrator-kills'] },
  {
    fault: 'worker paused past its lease, which then wakes and settles',
    scenarios: ['bulk-workers-killed', 'outbox-exactly-once', 'orchestrator-kills'],
  },
  { fault: 'event loop blocked past the lease', scenarios: ['bulk-workers-killed'] },
  { fault: 'processor that ends its process each time', scenarios: ['bulk-poison'] },
  {
    fault: 'processor that throws undefined, strings or circular errors, or never settles',
    scenarios: ['bulk-bad-processors'],
  },
  { fault: 'settle sent twice and crossed', scenarios: ['bulk-bad-processors'] },
  {
    fault: '100 submits at once with one key from 4 processes',
    scenarios: ['bulk-one-key', 'orchestrator-one-key'],
  },
  { fault: 'half of the workers killed with 1,000 jobs in flight', scenarios: ['bulk-half-killed'] },
  { fault: 'workers stopped and replaced one after the other', scenarios: ['bulk-rolled-out'] },
  { fault: 'old and new layout at once', scenarios: ['rolling-layout'] },
  { fault: 'Redis restarted', scenarios: ['redis-queue-restart', 'bulk-redis-killed'] },
  { fault: 'Redis killed −9, AOF always', scenarios: ['redis-queue-restart', 'bulk-redis-killed'] },
  { fault: 'Redis killed −9, AOF everysec', scenarios: ['bulk-redis-killed-everysec'] },
  { fault: 'Redis stopped (SIGSTOP) for 10 s', scenarios: ['bulk-redis-frozen', 'redis-queue-freeze'] },
  {
    fault: 'Redis away longer than every client timeout',
    scenarios: ['bulk-redis-killed', 'bulk-redis-frozen', 'server-backends-down'],
  },
  {
    fault: '`SCRIPT FLUSH` and connections killed under load',
    scenarios: ['bulk-client-kill', 'redis-queue-client-kill'],
  },
  {
    fault: 'reply lost after execution',
    scenarios: [
      'bulk-lost-replies',
      'redis-queue-lost-replies',
      'outbox-exactly-once',
      'orchestrator-kills',
      'server-campaign',
    ],
  },
  { fault: '`maxmemory` reached', scenarios: ['bulk-memory-full'] },
  { fault: 'AOF disk full and freed', scenarios: ['bulk-disk-full'] },
  { fault: 'corrupted record', scenarios: ['bulk-corrupt-record'] },
  { fault: 'called service answers 503 for a minute', scenarios: ['bulk-service-down'] },
  {
    fault: 'master of a Redis Cluster replaced or killed',
    scenarios: ['bulk-cluster-failover', 'bulk-cluster-killed'],
  },
  { fault: 'all load on one shard', scenarios: ['bulk-cluster-skew'] },
  {
    fault: 'PostgreSQL restarted fast and immediate',
    scenarios: ['outbox-exactly-once', 'orchestrator-kills'],
  },
  {
    fault: 'PostgreSQL backends terminated at random',
    scenarios: ['outbox-exactly-once', 'orchestrator-kills'],
  },
  {
    fault: 'PostgreSQL frozen or down',
    scenarios: ['outbox-conflicts', 'outbox-exactly-once', 'orchestrator-store-down', 'server-backends-down'],
  },
  { fault: 'deadlocks and serialization failures', scenarios: ['outbox-conflicts'] },
  { fault: 'lost NOTIFY', scenarios: ['outbox-conflicts'] },
  { fault: 'two interleaved transactions at the outbox', scenarios: ['outbox-conflicts'] },
  { fault: 'PGlite opened twice, killed in the middle of a write', scenarios: ['pglite-killed'] },
  { fault: 'SIGTERM idle, busy, backends down, SSE open, twice', scenarios: ['stopping'] },
  { fault: 'thread that crashes', scenarios: ['thread-crash'] },
  { fault: 'slow and vanished readers of streams', scenarios: ['stream-readers'] },
  {
    fault: 'hostile ids and payloads: a byte too long, 10⁴ deep, lone surrogates, `__proto__`',
    scenarios: ['bulk-hostile-tenant'],
  },
  { fault: 'aborts, failures, hangs and changed limits at once', scenarios: ['abort-storm'] },
  { fault: 'more producers than a bounded queue takes', scenarios: ['redis-queue-bound'] },
  { fault: 'owner of private servers killed', scenarios: ['runner-killed'] },
  { fault: 'mixed work for half an hour with faults', scenarios: ['soak'] },
];

/** What of the table cannot be true. */
export interface Gaps {
  /** Named in the table, and there is no such scenario. */
  readonly missing: readonly string[];
  /** Scenarios that no fault names. */
  readonly unnamed: readonly string[];
  /** Faults without a scenario. */
  readonly unplayed: readonly string[];
}

/** Compares the table with the scenarios that there are. */
export function gapsIn(faults: readonly Fault[], known: readonly string[]): Gaps {
  const named = new Set(faults.flatMap(({ scenarios }) => scenarios));
  return {
    missing: [...named].filter((name) => !known.includes(name)),
    unnamed: known.filter((name) => !named.has(name)),
    unplayed: faults.filter(({ scenarios }) => scenarios.length === 0).map(({ fault }) => fault),
  };
}
