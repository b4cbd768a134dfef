import type { Rng } from '@millrace/foundation';
import { ERRORS } from '../../src/errors.js';
import type { GroupKey, TenantPatch } from '../../src/model.js';
import type { BulkActionConfig } from '../../src/options.js';
import type { GroupDefinition, NewJob } from '../../src/ports.js';
import { signatureOf } from '../../src/rules/signature.js';
import { GroupStatus, PriorityLevel } from '../../src/states.js';
import type { GroupFilter } from '../../src/store-views.js';
import { numbers } from '../store-contract/tools.js';

/** The small world of one sequence: so few of everything that commands meet the same jobs again and again. */
export interface World {
  readonly config: BulkActionConfig;
  /** The groups as they are usually defined; so many of them, the first that still take jobs, are mostly spoken of. */
  readonly definitions: readonly GroupDefinition[];
  readonly active: number;
  readonly keys: readonly GroupKey[];
  readonly tenantIds: readonly string[];
  readonly namespaces: readonly string[];
  readonly jobIds: readonly string[];
  readonly instanceIds: readonly string[];
  /** How many more jobs, slots and moves there are than usual: bounds of single steps are met in large worlds only. */
  readonly scale: number;
  /** Most of its jobs and groups have no limit, deadline or delay of their own, and most tries succeed: what a store does for such ones alone is met often. */
  readonly isPlain: boolean;
}

/** The worlds of these seeds and higher ones are plain. */
export const PLAIN_FROM = 1_000_000;

/** Nothing of this name is ever made. */
export const NOWHERE: GroupKey = 'a/nowhere';
export const NOBODY = 'nobody';

export const PROCESSOR_TYPES = ['work', 'mail'] as const;

/**
 * Names whose order as text is not that of their parts: '-' and '.' come before '/', which ends a key inside the name of
 * a job, and ':' and '_' after it.
 */
const PLACES: readonly (readonly [tenant: string, id: string, tenantId: string])[] = [
  ['a', 'one', 'a'],
  ['a', 'one-2', 'a'],
  ['a', 'one.2', 'a'],
  ['b', 'one', 'b'],
  ['b', 'one:2', 'b'],
  ['a-b', 'one', 'a-b'],
  ['', 'solo', 'solo'],
  ['', 'one', 'one'],
  ['', 'other', 'solo'],
  ['', 'guest', 'a'],
];

/** More groups than are passed over in one step. */
const CROWD: typeof PLACES = numbers(45).map((n) => {
  const tenant = ['a', 'b', ''][n % 3] as string;
  return [tenant, `g${n}`, tenant || (n % 2 ? 'crowd' : `g${n}`)];
});

const JOB_IDS = ['j0', 'j1', 'j10', 'j2', 'J', 'j:1', 'j-1', 'j_1', 'j.1', '0', '10', '9', 'a', 'z'];

/** What jobs die of; the last one is what the store itself says of orphans. */
export const SIGNATURES = [
  'work BROKEN never again',
  'mail GONE address "#"',
  signatureOf('work', 'ORPHANED', ERRORS.create('ORPHANED', { count: 1 }).message),
] as const;

/** Payloads that come back as another text from a store that reads them on the way. */
export const PAYLOADS = [
  '{"id":1}',
  '{"list":[],"map":{}}',
  '"grün € 😀 \\u0000"',
  '12345678901234567890',
  'null',
  '{"deep":{"a":[1.0,1e21,-0]}}',
  '"line\\nbreak"',
] as const;

/** Draws the world of a sequence. */
export function drawWorld(rng: Rng, isPlain = false): World {
  const isLarge = rng.chance(0.06);
  const definitions = rng
    .shuffle(isLarge ? CROWD : PLACES)
    .map(([tenant, id, tenantId]) => drawDefinition(rng, tenant, id, tenantId))
    .map((definition) => (isPlain && rng.chance(0.93) ? plainOf(rng, definition) : definition));
  return {
    config: isPlain ? drawPlainConfig(rng) : drawConfig(rng),
    definitions,
    active: isLarge ? CROWD.length : rng.integer(2, 4),
    keys: definitions.map(({ key }) => key),
    tenantIds: [...new Set(definitions.map(({ tenantId }) => tenantId))],
    namespaces: [...new Set(definitions.map(({ tenant }) => tenant))],
    jobIds: rng.shuffle(JOB_IDS).slice(0, rng.integer(4, JOB_IDS.length)),
    instanceIds: ['one', 'two', 'three'].slice(0, rng.integer(1, 3)),
    scale: isLarge ? 40 : 1,
    isPlain,
  };
}

/** Without limits, and mostly as a caller defines a group who says nothing of it. */
function plainOf(rng: Rng, { rps, burst, concurrency, deadline, ...rest }: GroupDefinition): GroupDefinition {
  return rng.chance(0.7) ? { ...rest, priorityLevel: PriorityLevel.NORMAL, traceparent: '' } : rest;
}

function drawDefinition(rng: Rng, tenant: string, id: string, tenantId: string): GroupDefinition {
  return {
    key: `${tenant}/${id}`,
    tenant,
    tenantId,
    weight: drawWeight(rng),
    priorityLevel: rng.pick(Object.values(PriorityLevel)),
    ...(rng.chance(0.3) && { rps: drawRps(rng) }),
    ...(rng.chance(0.3) && { burst: rng.integer(1, 4) }),
    ...(rng.chance(0.3) && { concurrency: rng.integer(1, 3) }),
    timeoutMs: rng.pick([60_000, 3_600_000]),
    ...(rng.chance(0.1) && { deadline: rng.pick([60_000, 86_400_000]) }),
    traceparent: rng.pick(['', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']),
  };
}

/** Some whose quotients are no binary fractions: a store that rounds tags orders ties differently. */
const drawWeight = (rng: Rng): number => rng.pick([1, 1, 1, 2, 3, 0.7, 10]);

/** Which groups to list. */
export const drawGroupFilter = (rng: Rng, namespaces: readonly string[], tenantId: string): GroupFilter => ({
  ...(rng.chance(0.3) && { tenant: rng.pick(namespaces) }),
  ...(rng.chance(0.3) && { tenantId }),
  ...(rng.chance(0.3) && { status: rng.pick(Object.values(GroupStatus)) }),
});

/** Whom a picky service refuses. */
export const refusedOf = ({ keys }: World): readonly GroupKey[] => keys.filter((_, at) => at % 3 === 0);

/** A job that nothing unusual concerns. */
export const drawPlainJob = (rng: Rng, id: string): NewJob => ({
  id,
  processorType: rng.pick(PROCESSOR_TYPES),
  payload: rng.pick(PAYLOADS),
  cost: 1,
  ...(rng.chance(0.1) && { traceparent: '00-11111111111111111111111111111111-2222222222222222-00' }),
});

/** What a called service says when it refuses. */
export const drawThrottle = (rng: Rng) => {
  const asked = rng.chance(0.5) && { retryAfterMs: rng.pick([0, 5, 400, 3000, 20_000]) };
  return { throttle: { ...asked, random: rng.next() } };
};

const drawRps = (rng: Rng): number => rng.pick([0.3, 1, 3, 7, 20, 100]);

/** What is to change in a tenant or a group. */
export const drawLimits = (rng: Rng): TenantPatch => ({
  ...(rng.chance(0.4) && { weight: drawWeight(rng) }),
  ...(rng.chance(0.4) && { rps: rng.chance(0.5) ? null : drawRps(rng) }),
  ...(rng.chance(0.3) && { burst: rng.pick([null, 1, 2, 5]) }),
  ...(rng.chance(0.4) && { concurrency: rng.pick([null, null, 1, 2, 4]) }),
});

const sometimes = <T>(rng: Rng, probability: number, values: readonly T[]): T | undefined =>
  rng.chance(probability) ? rng.pick(values) : undefined;

/** `work` and `mail` are also resources, unless a heartbeat says that they call another one. */
const RESOURCES: readonly NonNullable<BulkActionConfig['resources']>[] = [
  { mail: { rps: 3 } },
  { mail: { rps: 20, concurrency: 2 }, work: { concurrency: 1 } },
  { api: { rps: 2 }, work: { adaptiveConcurrency: true } },
  { work: { adaptiveConcurrency: true, concurrency: 3 }, mail: { initialRps: 4 } },
  { api: { concurrency: 2 }, mail: { rps: 0.5 } },
];

/** Limits so small that they are met. */
function drawConfig(rng: Rng): BulkActionConfig {
  const [defaultBackoffMs, maxBackoffMs] = rng.pick([
    [1000, 60_000],
    [100, 150],
    [700, 700],
    [90, 90],
    [0, 10],
  ] as const);
  return {
    limits: {
      queuedJobsMax: sometimes(rng, 0.15, [6, 12, 20]),
      tenantQueuedJobsMax: sometimes(rng, 0.15, [4, 8]),
      jobRetentionMs: sometimes(rng, 0.7, [0, 1000, 30_000, 200_000]),
      costMax: sometimes(rng, 0.3, [5]),
      groupResultBytesMax: sometimes(rng, 0.3, [10, 40]),
    },
    fairQueue: {
      charge: rng.pick(['job', 'job', 'time', 'time', chargeByPayload]),
      alpha: sometimes(rng, 0.3, [0.5, 3]),
      maxShare: sometimes(rng, 0.4, [0.5, 0.25, 0.1]),
      priorityWeights: sometimes(rng, 0.3, [{ high: 3, low: 0.3 }]),
    },
    backpressure: {
      globalRps: sometimes(rng, 0.3, [0, 2, 10, 50]),
      burst: sometimes(rng, 0.3, [1, 3, 10]),
      readyQueueMaxSize: sometimes(rng, 0.3, [1, 2, 5]),
      readyHorizonMs: sometimes(rng, 0.3, [0, 1000]),
      defaultBackoffMs,
      maxBackoffMs,
    },
    workerPool: { fetchBatchSize: sometimes(rng, 0.4, [1, 3]) },
    resources: sometimes(rng, 0.4, RESOURCES) ?? {},
    congestion: {
      enabled: !rng.chance(0.1),
      initialRps: sometimes(rng, 0.15, [1, 5, 50]),
      baseBackoffMs: rng.pick([0, 10, 500, 500]),
      maxBackoffMs: sometimes(rng, 0.4, [500, 1500]),
      statsRetentionMs: sometimes(rng, 0.6, [0, 4000, 30_000]),
    },
    aggregator: {
      failedDetailsMaxCount: sometimes(rng, 0.3, [0, 2]),
      resultRetentionMs: sometimes(rng, 0.7, [0, 5000, 100_000]),
    },
    reliableQueue: {
      ackTimeoutMs: sometimes(rng, 0.7, [500, 3000, 20_000]),
      maxOrphanCount: sometimes(rng, 0.6, [0, 1, 2]),
      deadLetterRetentionMs: sometimes(rng, 0.5, [2000, 50_000]),
    },
  };
}

function drawPlainConfig(rng: Rng): BulkActionConfig {
  return {
    limits: {
      queuedJobsMax: sometimes(rng, 0.1, [12, 20]),
      tenantQueuedJobsMax: sometimes(rng, 0.1, [8]),
      jobRetentionMs: sometimes(rng, 0.3, [1000, 30_000]),
    },
    resources: sometimes(rng, 0.1, RESOURCES) ?? {},
    fairQueue: {
      charge: rng.pick(['job', 'job', 'job', chargeByPayload]),
      alpha: sometimes(rng, 0.3, [0.5, 3]),
      priorityWeights: sometimes(rng, 0.3, [{ high: 3, low: 0.3 }]),
    },
    backpressure: { globalRps: sometimes(rng, 0.4, [0, 10, 50]), burst: sometimes(rng, 0.3, [1, 3, 10]) },
    congestion: { enabled: !rng.chance(0.1), statsRetentionMs: sometimes(rng, 0.6, [0, 4000, 30_000]) },
    reliableQueue: { ackTimeoutMs: sometimes(rng, 0.3, [3000, 20_000]) },
  };
}

/** The store never calls it: the service does, and gives the store what it says with each job. */
const chargeByPayload = (): number => 1;
