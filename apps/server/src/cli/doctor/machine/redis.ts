import type { Clock } from '@millrace/foundation';
import { RedisConnection } from '@millrace/redis';
import { addressOf, rootReason } from '../../../compose/await-backends.js';
import { isForbidden } from '../../../health/redis-backend.js';
import { finding } from '../finding.js';
import { clockOffset } from '../rules/clocks.js';
import { judgeRedis, readInfo } from '../rules/redis.js';
import { ANSWER_MS, type BackendLook } from './backend-look.js';

/** Looks at the Redis of REDIS_URL. */
export async function lookAtRedis(url: string, clock: Clock): Promise<BackendLook> {
  const limits = { callTimeoutMs: ANSWER_MS, connectTimeoutMs: ANSWER_MS };
  await using redis = new RedisConnection({ url, connectionName: 'millrace-doctor', ...limits });
  try {
    await redis.start();
    const info = await unlessForbidden(redis, 'INFO', []);
    const fsync = await unlessForbidden(redis, 'CONFIG', ['GET', 'appendfsync']);
    const findings = judgeRedis({
      info: info === undefined ? undefined : readInfo(String(info)),
      fsync: (fsync as readonly string[] | undefined)?.[1],
    });
    return { findings, clock: await lookAtClock(redis, clock) };
  } catch (error) {
    return { findings: [unusable(url, error)], clock: undefined };
  }
}

const unusable = (url: string, error: unknown) =>
  finding('failure', 'redis', `Redis at ${addressOf(url)} cannot be used`, {
    seen: `${rootReason(error)} (waited ${ANSWER_MS} ms).`,
    action:
      'Start it, or correct REDIS_URL (redis://user:password@host:6379/0); look whether a firewall or `bind` and `requirepass` of redis.conf keep this machine out.',
  });

async function unlessForbidden(
  redis: RedisConnection,
  command: string,
  args: readonly string[],
): Promise<unknown> {
  try {
    return await redis.call(command, args);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

async function lookAtClock(redis: RedisConnection, clock: Clock): Promise<BackendLook['clock']> {
  const askedAt = clock.now();
  const time = await unlessForbidden(redis, 'TIME', []);
  const answeredAt = clock.now();
  if (!Array.isArray(time)) return undefined;
  const told = Number(time[0]) * 1000 + Number(time[1]) / 1000;
  return clockOffset({ of: 'Redis', askedAt, answeredAt, told, coarseMs: 1 });
}
