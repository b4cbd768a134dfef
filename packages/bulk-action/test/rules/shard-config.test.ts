import { describe, expect, it } from 'vitest';
import { resolveBulkActionConfig } from '../../src/options.js';
import { shardConfig, wholePart } from '../../src/rules/shard-config.js';

const CONFIG = {
  shards: 3,
  limits: { queuedJobsMax: 100, tenantQueuedJobsMax: 50 },
  backpressure: { globalRps: 100, burst: 10, readyQueueMaxSize: 20 },
  congestion: { initialRps: 30 },
  resources: { mail: { rps: 60, initialRps: 6, concurrency: 7 }, push: { adaptiveConcurrency: true } },
};

const parts = () => {
  const config = resolveBulkActionConfig(CONFIG);
  return [0, 1, 2].map((shard) => shardConfig(config, shard));
};

describe('bulk-action BA-18: the settings of a shard', () => {
  it('bulk-action BA-18: a whole number is divided exactly, the first parts get one more', () => {
    expect([0, 1, 2].map((part) => wholePart(7, 3, part))).toEqual([3, 2, 2]);
    for (const total of [0, 1, 2, 3, 100, 101]) {
      const sum = [0, 1, 2, 3].reduce((all, part) => all + wholePart(total, 4, part), 0);
      expect(sum).toBe(total);
    }
  });

  it('bulk-action BA-2: what is limited over all is divided', () => {
    const [first, second, third] = parts();
    expect(first).toMatchObject({
      limits: { queuedJobsMax: 34 },
      backpressure: { globalRps: 100 / 3, burst: 4, readyQueueMaxSize: 7 },
      congestion: { initialRps: 10 },
      resources: { mail: { rps: 20, initialRps: 2, concurrency: 3 }, push: { adaptiveConcurrency: true } },
    });
    expect(second).toMatchObject({
      limits: { queuedJobsMax: 33 },
      backpressure: { burst: 3, readyQueueMaxSize: 7 },
    });
    expect(third).toMatchObject({
      backpressure: { burst: 3, readyQueueMaxSize: 6 },
      resources: { mail: { concurrency: 2 } },
    });
  });

  it('bulk-action BA-2: what is of one tenant, one step or one process stays', () => {
    const config = resolveBulkActionConfig(CONFIG);
    for (const part of parts()) {
      expect(part.limits.tenantQueuedJobsMax).toBe(50);
      expect(part.workerPool).toEqual(config.workerPool);
      expect(part.reliableQueue).toEqual(config.reliableQueue);
      expect(part.resources.push).toEqual({ adaptiveConcurrency: true });
    }
  });

  it('bulk-action BA-2: 0 stays off, and a burst that is not given follows the divided rate', () => {
    const config = resolveBulkActionConfig({ shards: 3 });
    const part = shardConfig(config, 2);
    expect(part.limits.queuedJobsMax).toBe(0);
    expect(part.backpressure.burst).toBeUndefined();
  });

  it('bulk-action BA-18: one shard is the configuration itself', () => {
    const config = resolveBulkActionConfig();
    expect(shardConfig(config, 0)).toBe(config);
  });

  it.each([
    { limits: { queuedJobsMax: 2 } },
    { backpressure: { burst: 2 } },
    { backpressure: { readyQueueMaxSize: 2 } },
    { resources: { mail: { concurrency: 2 } } },
  ])('bulk-action BA-18: %j is not enough for three shards', (settings) => {
    expect(() => resolveBulkActionConfig({ shards: 3, ...settings })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining('raise those') }),
    );
    expect(resolveBulkActionConfig({ shards: 2, ...settings }).shards).toBe(2);
  });
});
