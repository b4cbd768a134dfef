import { bytes, percent } from '../../show/amounts.js';
import { type Finding, finding } from '../finding.js';
import { isOlder } from './versions.js';

/** Scripts use commands that came with it: see docs/redis-keys.md. */
const OLDEST_REDIS = '6.2';
/** A Redis that is so full needs room before it refuses to store. */
const MEMORY_WARNING_SHARE = 0.8;
const MEMORY_FAILURE_SHARE = 0.98;

/** What a Redis says of itself. */
export interface RedisFacts {
  /** What INFO says, by name; undefined: the user of the address may not run it. */
  readonly info: Readonly<Record<string, string>> | undefined;
  /** `appendfsync`; undefined: the user may not run CONFIG GET. */
  readonly fsync: string | undefined;
}

/**
 * Reads what INFO answers.
 * @param text - lines of `name:value`.
 */
export const readInfo = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/^([a-z_0-9]+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]));

/** Judges a Redis that answers. */
export function judgeRedis({ info, fsync }: RedisFacts): readonly Finding[] {
  if (!info)
    return [
      finding('warning', 'redis.info', 'The user of REDIS_URL may not run INFO', {
        seen: 'Nobody can see whether Redis may evict keys, how full it is, and what it keeps after a crash.',
        action: 'Allow it: ACL SETUSER name +info',
      }),
    ];
  const judged = [judgeVersion(info), judgePlace(info), judgePolicy(info), judgeMemory(info)];
  return [...judged.filter((one) => one !== undefined), judgeDurability(info, fsync)];
}

type Info = NonNullable<RedisFacts['info']>;

function judgeVersion({ redis_version: version = '?' }: Info): Finding {
  return version !== '?' && isOlder(version, OLDEST_REDIS)
    ? finding('failure', 'redis.version', `Redis ${version} is too old`, {
        action: `Install Redis ${OLDEST_REDIS} or newer.`,
      })
    : finding('ok', 'redis.version', `Redis ${version} answers`);
}

function judgePlace({ role, master_host: host, master_port: port }: Info): Finding | undefined {
  if (role !== 'slave') return undefined;
  return finding('failure', 'redis.role', 'REDIS_URL names a replica, which takes no writes', {
    seen: `Its master is ${host}:${port}.`,
    action: 'Let REDIS_URL name the master, or a name that follows it.',
  });
}

function judgePolicy({ maxmemory_policy: policy = 'noeviction' }: Info): Finding {
  if (policy === 'noeviction') return finding('ok', 'redis.eviction', 'Redis evicts nothing');
  return finding('failure', 'redis.eviction', 'Redis may evict what waits in it', {
    seen: `maxmemory-policy is ${policy}, not noeviction: when memory is full it deletes queued work. Servers are not ready until it is changed.`,
    action:
      'At once: redis-cli CONFIG SET maxmemory-policy noeviction. For good, in redis.conf: maxmemory-policy noeviction',
  });
}

function judgeMemory(info: Info): Finding | undefined {
  const [used, most] = [Number(info.used_memory), Number(info.maxmemory)];
  if (!(most > 0)) return undefined;
  const share = used / most;
  const seen = `${bytes(used)} of ${bytes(most)} are used (${percent(share)}).`;
  if (share < MEMORY_WARNING_SHARE) return finding('ok', 'redis.memory', 'Redis has room', { seen });
  const isFull = share >= MEMORY_FAILURE_SHARE;
  const title = isFull ? 'Redis is full: it refuses what is handed in' : 'Redis is nearly full';
  return finding(isFull ? 'failure' : 'warning', 'redis.memory', title, {
    seen,
    action:
      'Raise maxmemory (CONFIG SET maxmemory, redis.conf), or let fewer jobs wait (bulk.limits.queuedJobsMax), or keep less (bulk.limits.jobRetentionMs, `millrace dlq purge`).',
  });
}

function judgeDurability(info: Info, fsync: string | undefined): Finding {
  const check = 'redis.durability';
  if (info.aof_enabled !== '1')
    return finding('note', check, 'A crash of Redis loses the jobs in it', {
      seen: 'The append-only file is off.',
      action: 'In redis.conf: appendonly yes and appendfsync always (or everysec).',
    });
  if (info.aof_last_write_status === 'err')
    return finding('failure', check, 'Redis cannot write its append-only file', {
      seen: 'aof_last_write_status is err: it refuses every write.',
      action: 'Make room on its disk; it goes on by itself.',
    });
  if (fsync === 'always') return finding('ok', check, 'Redis loses nothing it has acknowledged');
  const loss =
    fsync === 'no' ? 'what the system has not written yet, up to half a minute' : 'about the last second';
  return finding('note', check, `A crash of Redis or its machine can lose ${loss}`, {
    seen: fsync === undefined ? 'The append-only file is on.' : `appendfsync is ${fsync}.`,
    action: 'If that is too much, in redis.conf: appendfsync always',
  });
}
