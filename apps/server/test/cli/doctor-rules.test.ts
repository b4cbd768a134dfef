import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOCK_DIFFERENCE_MAX_MS, clockOffset, judgeClocks } from '../../src/cli/doctor/rules/clocks.js';
import { judgeInstances } from '../../src/cli/doctor/rules/instances.js';
import { judgePostgres, TRANSACTION_MAX_MS } from '../../src/cli/doctor/rules/postgres.js';
import { judgeRedis, readInfo } from '../../src/cli/doctor/rules/redis.js';
import { judgeTuning } from '../../src/cli/doctor/rules/settings.js';
import { isOlder, judgeNode } from '../../src/cli/doctor/rules/versions.js';
import { bytes } from '../../src/cli/show/amounts.js';
import { ago, instance, NOW } from './doctor-facts.js';

describe('clocks', () => {
  it('agree as far as the round trip lets one see', () => {
    const ms = fc.integer({ min: 0, max: 5_000 });
    fc.assert(
      fc.property(
        fc.integer({ min: -10_000, max: 10_000 }),
        ms,
        ms,
        fc.constantFrom(1, 1000),
        (truth, there, back, coarseMs) => {
          const read = NOW + there + truth;
          const look = {
            of: 'it',
            askedAt: NOW,
            answeredAt: NOW + there + back,
            told: read - (read % coarseMs),
            coarseMs,
          };
          const offset = clockOffset(look);
          expect(offset.leastMs).toBeLessThanOrEqual(truth);
          expect(offset.mostMs).toBeGreaterThanOrEqual(truth);
          const level = judgeClocks('c', [offset])?.level;
          if (Math.abs(truth) <= CLOCK_DIFFERENCE_MAX_MS) expect(level).toBe('ok');
          if (Math.abs(truth) > CLOCK_DIFFERENCE_MAX_MS + there + back + coarseMs)
            expect(level).toBe('warning');
        },
      ),
    );
  });

  it('are compared with each other, too', () => {
    const at = (of: string, ms: number) => ({ of, leastMs: ms, mostMs: ms });
    expect(judgeClocks('c', [])).toBeUndefined();
    expect(judgeClocks('c', [at('Redis', 900), at('PostgreSQL', -900)])?.seen).toBe(
      'the clock of PostgreSQL is 1.8 s or more behind that of Redis. Up to 1.0 s is well.',
    );
  });
});

describe('backends and settings', () => {
  it.each([
    ['6.0.16', 'failure'],
    ['6.2.0', 'ok'],
    ['7.4.1', 'ok'],
    ['255.255.255', 'ok'],
  ])('Redis %s', (redis_version, level) => {
    const [version] = judgeRedis({ info: readInfo(`redis_version:${redis_version}\r\n`), fsync: undefined });
    expect(version).toMatchObject({ check: 'redis.version', level });
  });

  it.each([
    ['used_memory:79\r\nmaxmemory:100', 'redis.memory', 'ok'],
    ['used_memory:80\r\nmaxmemory:100', 'redis.memory', 'warning'],
    ['used_memory:99\r\nmaxmemory:100', 'redis.memory', 'failure'],
    ['used_memory:99\r\nmaxmemory:0', 'redis.memory', undefined],
    ['role:slave\r\nmaster_host:m\r\nmaster_port:1', 'redis.role', 'failure'],
    ['role:master', 'redis.role', undefined],
    ['aof_enabled:1\r\naof_last_write_status:err', 'redis.durability', 'failure'],
    ['aof_enabled:1\r\naof_last_write_status:ok', 'redis.durability', 'note'],
  ])('Redis that says %j', (info, check, level) => {
    const judged = judgeRedis({ info: readInfo(info), fsync: undefined });
    expect(judged.find((one) => one.check === check)?.level).toBe(level);
  });

  it.each([
    [{}, 'postgres.connections', 'ok'],
    [{ connectionsOfOthers: 60 }, 'postgres.connections', 'warning'],
    [{ isStandby: true }, 'postgres.role', 'failure'],
    [
      { oldest: { pid: 9, user: 'u', application: 'psql', ms: TRANSACTION_MAX_MS } },
      'postgres.transactions',
      'warning',
    ],
    [{ oldest: { pid: 9, user: 'u', application: '', ms: 1_000 } }, 'postgres.transactions', 'ok'],
  ])('PostgreSQL with %j', (more, check, level) => {
    const plain = {
      version: '16.1',
      isStandby: false,
      connectionsMax: 100,
      connectionsReserved: 3,
      connectionsOfOthers: 10,
      oldest: null,
    };
    const judged = judgePostgres({ ...plain, ...more }, { perInstance: 16, instances: 3 });
    expect(judged.find((one) => one.check === check)?.level).toBe(level);
  });

  it('says how many connections are needed', () => {
    const plain = {
      version: '16.1',
      isStandby: false,
      connectionsMax: 100,
      connectionsReserved: 3,
      connectionsOfOthers: 60,
      oldest: null,
    };
    const [, connections] = judgePostgres(plain, { perInstance: 16, instances: 3 });
    expect(connections?.action).toContain('ALTER SYSTEM SET max_connections = 111');
  });

  it('has nothing to say of the defaults', () => {
    const defaults = { workerCount: 10, fetchIntervalMs: 200, fetchBatchSize: 50, jobTimeoutMs: 30_000 };
    const grace = { gracePeriodMs: 30_000, shutdownGracePeriodMs: 21_000, exitMs: 29_000 };
    expect(judgeTuning({ ...defaults, ...grace })).toEqual([]);
    const levels = (more: object) =>
      judgeTuning({ ...defaults, ...grace, ...more }).map(({ check, level }) => `${check} ${level}`);
    expect(levels({ workerCount: 0 })).toEqual(['tuning.workers note']);
    expect(levels({ fetchIntervalMs: 1_000 })).toEqual(['tuning.fetchInterval note']);
    expect(levels({ fetchBatchSize: 5 })).toEqual(['tuning.fetchBatch note']);
    expect(levels({ shutdownGracePeriodMs: 30_000 })).toEqual(['tuning.shutdown warning']);
    expect(levels({ jobTimeoutMs: 40_000 })).toEqual(['tuning.jobTimeout note']);
  });

  it('orders versions', () => {
    const version = fc.array(fc.nat(30), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(isOlder(a, a)).toBe(false);
        if (isOlder(a, b)) expect(isOlder(b, a)).toBe(false);
      }),
    );
    expect([
      isOlder('20.9.0', '>=20.19'),
      isOlder('20.19.0', '>=20.19'),
      isOlder('v22.0.0', '>=20.19'),
    ]).toEqual([true, false, false]);
    expect(judgeNode('18.20.0', '>=20.19').level).toBe('failure');
  });

  it('tells of instances: those that differ, those that are gone', () => {
    const gone = instance({ instanceId: 'c', alive: false, seenAt: ago(120_000) });
    const instances = [instance(), instance({ instanceId: 'b', version: '1.1.0', role: 'worker' }), gone];
    expect(
      judgeInstances({ instances, nowMs: NOW }).map(({ check, level, seen }) => [check, level, seen]),
    ).toEqual([
      ['instances', 'ok', null],
      ['instances.versions', 'warning', '1.0.0 (a); 1.1.0 (b).'],
      ['instances.gone', 'note', expect.stringContaining('c (last heard of 2 min ago)')],
    ]);
  });

  it('writes bytes in their largest unit', () => {
    expect([0, 1023, 1024, 1536, 10 * 1024 ** 2, 1.5 * 1024 ** 3, -2048].map(bytes)).toEqual([
      ...['0 B', '1,023 B', '1 KB', '1.5 KB', '10 MB', '1.5 GB', '-2 KB'],
    ]);
  });
});
