import { describe, expect, it } from 'vitest';
import {
  BULK_ACTION_DEFAULTS,
  type BulkActionConfig,
  type ResolvedBulkActionConfig,
  resolveBulkActionConfig,
} from '../src/options.js';

/** The specification, word for word. */
const SPECIFIED = {
  shards: 1,
  resources: {},
  keepResults: false,
  limits: {
    payloadBytesMax: 262144,
    costMax: 1000,
    queuedJobsMax: 0,
    tenantQueuedJobsMax: 0,
    resultBytesMax: 16384,
    groupResultBytesMax: 268435456,
    jobRetentionMs: 3600000,
  },
  fairQueue: { charge: 'job', alpha: 0, maxShare: 1, priorityWeights: { high: 8, normal: 4, low: 1 } },
  backpressure: {
    globalRps: 10000,
    readyQueueMaxSize: 10000,
    readyHorizonMs: 50,
    dispatchIntervalMs: 100,
    dispatchBatchSize: 100,
    defaultBackoffMs: 1000,
    maxBackoffMs: 60000,
  },
  congestion: {
    enabled: true,
    initialRps: 0,
    baseBackoffMs: 1000,
    maxBackoffMs: 120000,
    statsRetentionMs: 3600000,
  },
  workerPool: {
    enabled: true,
    workerCount: 10,
    fetchIntervalMs: 200,
    fetchBatchSize: 50,
    workerTimeoutSec: 5,
    jobTimeoutMs: 30000,
    abortGraceMs: 5000,
    maxRetryCount: 3,
    shutdownGracePeriodMs: 30000,
  },
  aggregator: { failedDetailsMaxCount: 1000, resultRetentionMs: 86400000 },
  watcher: {
    intervalMs: 5000,
    groupTimeoutMs: 3600000,
    staleGroupThresholdMs: 60000,
    lockTtlMs: 30000,
    lockRetryCount: 3,
    lockRetryDelayMs: 200,
  },
  reliableQueue: {
    ackTimeoutMs: 40000,
    orphanRecoveryIntervalMs: 5000,
    orphanRecoveryBatchSize: 100,
    maxOrphanCount: 3,
    idempotencyTtlMs: 86400000,
    deadLetterRetentionMs: 2592000000,
  },
};

const given = (section: string, key: string, value: unknown) =>
  (section === '' ? { [key]: value } : { [section]: { [key]: value } }) as BulkActionConfig;

const leaves = Object.entries(BULK_ACTION_DEFAULTS).flatMap(([section, value]) =>
  typeof value === 'object' && section !== 'resources'
    ? Object.keys(value).map((key) => [section, key] as const)
    : [['', section] as const],
);

describe('configuration', () => {
  it('bulk-action BA-1: the defaults are those of the specification, every key', () => {
    expect(resolveBulkActionConfig()).toEqual(SPECIFIED);
    expect(resolveBulkActionConfig({})).toEqual(BULK_ACTION_DEFAULTS);
  });

  it('bulk-action BA-12: partial sections are merged over the defaults, at every depth', () => {
    const config = resolveBulkActionConfig({
      workerPool: { workerCount: 3 },
      fairQueue: { priorityWeights: { high: 100 } },
      backpressure: { burst: 7 },
      keepResults: undefined,
    });
    expect(config).toEqual({
      ...SPECIFIED,
      workerPool: { ...SPECIFIED.workerPool, workerCount: 3 },
      fairQueue: { ...SPECIFIED.fairQueue, priorityWeights: { high: 100, normal: 4, low: 1 } },
      backpressure: { ...SPECIFIED.backpressure, burst: 7 },
    });
  });

  it('what is resolved cannot be changed afterwards', () => {
    const config = resolveBulkActionConfig() as { -readonly [K in keyof ResolvedBulkActionConfig]: never };
    expect(() => Object.assign(config, { shards: 2 })).toThrow(TypeError);
    expect(() => Object.assign(config.fairQueue, { alpha: 1 })).toThrow(TypeError);
    expect(() => Object.assign(BULK_ACTION_DEFAULTS.limits, { costMax: 1 })).toThrow(TypeError);
  });

  it.each(leaves)(
    '%s.%s: a value of the wrong kind is refused by name, with what was expected',
    (section, key) => {
      const path = section === '' ? key : `${section}.${key}`;
      expect(() => resolveBulkActionConfig(given(section, key, 'nonsense'))).toThrow(
        expect.objectContaining({
          code: 'OPTION_INVALID',
          message: expect.stringMatching(new RegExp(`^bulk-action: ${path} must be .+, got '?nonsense`)),
        }),
      );
    },
  );

  it.each(
    leaves.filter(([section, key]) => typeof (SPECIFIED as never as Nested)[section]?.[key] === 'number'),
  )('%s.%s: NaN, infinity and negative numbers are refused', (section, key) => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1])
      expect(() => resolveBulkActionConfig(given(section, key, value))).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      );
  });

  it.each([
    [
      { workerPool: { workercont: 3 } },
      "there is no option 'workerPool.workercont'; did you mean 'workerPool.workerCount'?",
    ],
    [{ workerpool: {} }, "did you mean 'workerPool'?"],
    [{ limits: { costmax: 3 } }, "did you mean 'limits.costMax'?"],
    [{ fairQueue: { priorityWeights: { hihg: 3 } } }, "did you mean 'fairQueue.priorityWeights.high'?"],
    [{ banana: 1 }, 'known: shards, resources, keepResults'],
  ])('an unknown key is refused with the nearest known one: %j', (config, hint) => {
    expect(() => resolveBulkActionConfig(config as BulkActionConfig)).toThrow(
      expect.objectContaining({ code: 'OPTION_UNKNOWN', message: expect.stringContaining(hint) }),
    );
  });

  it.each([
    ['backpressure', { defaultBackoffMs: 2, maxBackoffMs: 1 }, 'defaultBackoffMs ≤ maxBackoffMs'],
    ['congestion', { baseBackoffMs: 2, maxBackoffMs: 1 }, 'baseBackoffMs ≤ maxBackoffMs'],
  ])('bulk-action BA-2: %s: back-off bounds must be in order', (section, values, said) => {
    expect(() => resolveBulkActionConfig({ [section]: values } as BulkActionConfig)).toThrow(said);
  });

  it.each(['limits', 'fairQueue', 'workerPool'])('%s: a section that is no object is refused', (section) => {
    for (const value of [5, 'x', true, []])
      expect(() => resolveBulkActionConfig({ [section]: value } as never)).toThrow(
        `bulk-action: ${section} must be an object`,
      );
  });

  it('bulk-action BA-1: what counts may be a function', () => {
    const charge = () => 2;
    expect(resolveBulkActionConfig({ fairQueue: { charge } }).fairQueue.charge).toBe(charge);
    expect(resolveBulkActionConfig({ fairQueue: { charge: 'time' } }).fairQueue.charge).toBe('time');
  });
});

type Nested = Record<string, Record<string, unknown> | undefined>;
