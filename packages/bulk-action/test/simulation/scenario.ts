import type { Rng } from '@millrace/foundation';
import type { GroupInput, JobInput } from '../../src/model.js';
import { type ResolvedBulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import type { FaultRates } from './chaos.js';
import { type Behaviour, COMMON_TYPE, type JobScript, RARE_TYPE } from './processors.js';

/** fair: no limits and no failures, so that the order can be judged. calm: no faults. faulty, hostile: some, many. */
type Mode = 'fair' | 'calm' | 'faulty' | 'hostile';

/** One bulk action of a run. */
export interface PlannedGroup {
  readonly group: GroupInput & { readonly id: string };
  readonly jobs: readonly (JobInput & { readonly id: string })[];
  /** When it is submitted. */
  readonly atMs: number;
  /** In how many calls. */
  readonly batches: number;
  /** Whether it gets a narrow limit while its jobs are ready. */
  readonly squeezed: boolean;
}

/** Everything that a seed decides before the run. */
export interface Scenario {
  readonly mode: Mode;
  readonly config: ResolvedBulkActionConfig;
  readonly rates: FaultRates;
  readonly groups: readonly PlannedGroup[];
  readonly tenantWeights: Readonly<Record<string, number>>;
  readonly instances: number;
  readonly workers: number;
  /** Whether there is an aggregator. */
  readonly aggregates: boolean;
  readonly operations: number;
  /** How long faults and operations go on. */
  readonly faultyMs: number;
}

const RATES: Readonly<Record<Mode, FaultRates>> = {
  fair: { call: 0, wakeUp: 0, kill: 0 },
  calm: { call: 0, wakeUp: 0, kill: 0 },
  faulty: { call: 0.04, wakeUp: 0.2, kill: 0.03 },
  hostile: { call: 0.15, wakeUp: 0.5, kill: 0.08 },
};

/** Most tries go well: a run in which nothing ends shows nothing. */
const TRIES: readonly (readonly Behaviour[])[] = [
  ['fails', 'succeeds'],
  ['fails'],
  ['fails'],
  ['fails for good'],
  ['answers with a failure', 'fails', 'succeeds'],
  ['is throttled', 'succeeds'],
  ['is throttled for a time', 'is throttled', 'fails', 'succeeds'],
  ['runs past the lease'],
  ['asks for its lease'],
  ['returns after the abort', 'succeeds'],
  ['ignores the abort', 'succeeds'],
  ['never settles', 'succeeds'],
  ['throws undefined', 'succeeds'],
  ['kills the process'],
  ['kills the process', 'succeeds'],
];

/** Draws a run. */
export function drawScenario(rng: Rng, startMs: number): Scenario {
  const mode = rng.pick(['fair', 'calm', 'faulty', 'faulty', 'hostile', 'hostile'] as const);
  const faultyMs = mode === 'fair' ? 0 : rng.integer(2000, 10_000);
  const tenants = Array.from({ length: rng.integer(1, 4) }, (_, index) => `t${index}`);
  const groups = rng.integer(1, 6);
  const jobs = rng.integer(5, 40);
  return {
    mode,
    config: drawConfig(rng, mode),
    rates: RATES[mode],
    groups: Array.from({ length: groups }, (_, index) =>
      drawGroup(rng, { mode, index, tenants, faultyMs, startMs, jobs: Math.ceil(jobs / groups) }),
    ),
    tenantWeights: Object.fromEntries(tenants.map((id) => [id, rng.pick([1, 1, 2, 4])])),
    instances: rng.integer(1, 3),
    workers: rng.integer(1, 4),
    aggregates: rng.fork('aggregates').chance(0.4),
    operations: mode === 'fair' ? 0 : rng.integer(0, 16),
    faultyMs,
  };
}

function drawConfig(rng: Rng, mode: Mode): ResolvedBulkActionConfig {
  const limited = mode !== 'fair' && rng.chance(0.3);
  return resolveBulkActionConfig({
    fairQueue: {
      charge: mode !== 'fair' && rng.chance(0.2) ? 'time' : 'job',
      alpha: mode !== 'fair' && rng.chance(0.2) ? 1 : 0,
      maxShare: mode !== 'fair' && rng.chance(0.2) ? 0.5 : 1,
    },
    backpressure: {
      globalRps: limited ? rng.pick([8, 20, 50]) : 10_000,
      ...(limited && rng.chance(0.5) && { burst: rng.integer(1, 5) }),
      readyQueueMaxSize: rng.pick([3, 10, 1000]),
      dispatchIntervalMs: rng.integer(500, 1500),
      dispatchBatchSize: rng.pick([1, 5, 100]),
      defaultBackoffMs: rng.integer(50, 500),
      maxBackoffMs: 2000,
    },
    congestion: { baseBackoffMs: 200, maxBackoffMs: 2000 },
    watcher: {
      intervalMs: rng.fork('watcher').integer(500, 2000),
      lockTtlMs: rng.fork('lock').integer(600, 3000),
    },
    workerPool: {
      fetchIntervalMs: rng.integer(500, 2000),
      fetchBatchSize: rng.pick([1, 5, 50]),
      workerTimeoutSec: rng.integer(1, 3),
      jobTimeoutMs: rng.integer(1500, 4000),
      abortGraceMs: rng.integer(100, 500),
      maxRetryCount: rng.pick([0, 0, 1, 3]),
      shutdownGracePeriodMs: rng.pick([5, 50, 500, 3000]),
    },
    reliableQueue: {
      ackTimeoutMs: rng.integer(1000, 5000),
      orphanRecoveryIntervalMs: rng.integer(500, 2000),
      orphanRecoveryBatchSize: rng.pick([1, 5, 100]),
      maxOrphanCount: rng.integer(0, 3),
    },
  });
}

interface GroupPlan {
  readonly mode: Mode;
  readonly index: number;
  readonly tenants: readonly string[];
  readonly faultyMs: number;
  readonly startMs: number;
  readonly jobs: number;
}

function drawGroup(rng: Rng, plan: GroupPlan): PlannedGroup {
  const { mode, index, tenants, faultyMs, startMs } = plan;
  const limits = mode === 'fair' ? {} : drawLimits(rng);
  const timing = rng.fork(`timeout ${index}`);
  const deadline = mode !== 'fair' && rng.chance(0.05) ? startMs + rng.integer(1000, 20_000) : undefined;
  return {
    group: {
      id: `g${index}`,
      ...(rng.chance(0.8) && { tenantId: rng.pick(tenants) }),
      weight: rng.pick([1, 1, 2, 3]),
      priorityLevel: rng.pick(['high', 'normal', 'low'] as const),
      ...limits,
      ...(deadline !== undefined && { deadline }),
      // So short that retries, rates and scheduled jobs make some of them fail.
      ...(mode !== 'fair' && timing.chance(0.15) && { timeoutMs: timing.integer(1500, 12_000) }),
    },
    jobs: Array.from({ length: rng.integer(1, plan.jobs * 2 - 1) }, (_, job) => drawJob(rng, plan, job)),
    atMs: mode === 'fair' ? 0 : rng.integer(0, faultyMs >> 1),
    batches: rng.integer(1, 3),
    squeezed: mode !== 'fair' && rng.chance(0.1),
  };
}

/** Limits as a group or a change of it has them; never so tight that a run takes minutes. */
export function drawLimits(rng: Rng): Pick<GroupInput, 'rps' | 'burst' | 'concurrency'> {
  return {
    ...(rng.chance(0.3) && { rps: rng.pick([2, 5, 20]) }),
    ...(rng.chance(0.2) && { burst: rng.integer(1, 4) }),
    ...(rng.chance(0.3) && { concurrency: rng.integer(1, 3) }),
  };
}

function drawJob(rng: Rng, { mode, startMs }: GroupPlan, index: number): JobInput & { readonly id: string } {
  const plain = mode === 'fair' || rng.chance(0.65);
  const payload: JobScript = {
    tries: plain ? ['succeeds'] : rng.pick(TRIES),
    ms: rng.pick([0, 1, 5, 20, 100, 400]),
  };
  const special = mode !== 'fair';
  return {
    id: `j${index}`,
    processorType: special && rng.chance(0.05) ? RARE_TYPE : COMMON_TYPE,
    payload,
    cost: rng.chance(0.7) ? 1 : rng.integer(2, 5),
    ...(special && rng.chance(0.1) && { notBefore: startMs + rng.integer(0, 8000) }),
    ...(special && rng.chance(0.05) && { deadline: startMs + rng.integer(500, 15_000) }),
  };
}
