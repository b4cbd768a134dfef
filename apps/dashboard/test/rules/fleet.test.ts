import { type InstanceBody, WORKERS_MAX as SERVED_MAX } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import {
  fleetSum,
  heapTone,
  instanceName,
  instanceState,
  isScaling,
  WORKERS_MAX,
  workersWished,
} from '../../src/rules/fleet.js';

const instance = (given: Partial<InstanceBody>): InstanceBody => ({
  ...{ instanceId: 'i', bulkInstanceId: 'b', role: 'all', version: '1.0.0', host: 'h', pid: 7 },
  ...{ alive: true, stopping: false, stoppingSince: null, gracePeriodMs: null },
  ...{ startedAt: '2026-01-01T00:00:00.000Z', seenAt: '2026-01-01T00:00:00.000Z' },
  ...{ workerCount: 10, wantedWorkers: null, processors: [], dags: [], routes: [], outboxConcurrency: 4 },
  ...{ busy: { jobs: 3, tasks: 2, requests: 1, streams: 5 }, backends: [], pool: null, memory: null },
  ...given,
});

describe('the fleet', () => {
  it('adds up those who are alive, whatever they run', () => {
    const all = [
      instance({}),
      instance({ role: 'api', version: '1.1.0', workerCount: null, outboxConcurrency: null }),
      instance({ alive: false, workerCount: 99 }),
    ];
    expect(fleetSum(all)).toEqual({
      ...{ instances: 2, workers: 10, busyWorkers: 6, taskRoom: 4, tasks: 4, requests: 2, streams: 10 },
      versions: ['1.0.0', '1.1.0'],
    });
  });

  it('tells one that has stopped as it should from one that is just gone', () => {
    const states = [true, false].flatMap((alive) =>
      [false, true].map((stopping) => instanceState({ alive, stopping }).status),
    );
    expect(states).toEqual(['ALIVE', 'STOPPING', 'GONE', 'STOPPED']);
    expect(instanceName(instance({}))).toBe('h:7');
  });

  it('knows when workers are still on their way', () => {
    expect(isScaling(instance({}))).toBe(false);
    expect(isScaling(instance({ wantedWorkers: 20 }))).toBe(true);
    expect(isScaling(instance({ wantedWorkers: 10 }))).toBe(false);
    expect(isScaling(instance({ wantedWorkers: 10, workerCount: null }))).toBe(false);
    expect(isScaling(instance({ wantedWorkers: 0 }))).toBe(true);
  });

  it('warns before a heap is full', () => {
    const tones = [10, 80, 92, 120].map((heapUsedBytes) => heapTone({ heapUsedBytes, heapLimitBytes: 100 }));
    expect(tones).toEqual(['run', 'hold', 'fail', 'fail']);
    expect(heapTone({ heapUsedBytes: 0, heapLimitBytes: 0 })).toBe('run');
  });

  it('takes numbers of workers that can be wished, and nothing else', () => {
    expect(WORKERS_MAX).toBe(SERVED_MAX);
    expect(['0', '20', ' 7 ', '10000'].map(workersWished)).toEqual([0, 20, 7, 10_000]);
    expect(['', '-1', '1.5', '1e3', '10001', '99999999999', 'ten'].map(workersWished)).toEqual(
      Array(7).fill(undefined),
    );
  });
});
