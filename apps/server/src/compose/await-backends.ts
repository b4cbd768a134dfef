import {
  type Clock,
  type Logger,
  MillraceError,
  sleep,
  TIMED_OUT,
  toWorkError,
  withDeadline,
} from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import type { ServerConfig } from '../config/model.js';
import { ERRORS } from '../errors.js';

/** Redis knows us not, and will not know us later. */
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM)\b/;
/** Between two attempts. */
const PAUSE_MS = 300;
/** A start that takes longer says what it is waiting for. */
const NOTICE_AFTER_MS = 1_000;

/** What the waiting needs. */
export interface AwaitBackends {
  readonly config: Pick<ServerConfig, 'redisUrl' | 'databaseUrl' | 'startWaitMs'>;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
}

interface Backend {
  readonly backend: string;
  readonly url: string | undefined;
  readonly setting: string;
  connect(): Promise<void>;
}

/**
 * Opens the database and sees that Redis answers. Processes that are started together come up in any order, so one that is away is
 * waited for.
 * @throws MillraceError `BACKEND_UNUSABLE` for one that is still away after `startWaitMs`, or refuses us; what an embedded database
 * refuses to open with; the signal's reason.
 */
export async function awaitBackends(needs: AwaitBackends): Promise<void> {
  const { config, database, clock, log } = needs;
  const deadline = clock.monotonicMs() + config.startWaitMs;
  await connected(needs, deadline, {
    backend: 'PostgreSQL',
    url: config.databaseUrl,
    setting: 'DATABASE_URL',
    connect: () => database.start(),
  });
  const { redisUrl } = config;
  if (redisUrl === undefined) return;
  // Its client takes a tenth of a second to load, and an embedded server has no use for it.
  const { RedisConnection } = await import('@millrace/redis');
  await using redis = new RedisConnection({ url: redisUrl, connectionName: 'millrace-start', logger: log });
  await connected(needs, deadline, {
    backend: 'Redis',
    url: redisUrl,
    setting: 'REDIS_URL',
    connect: async () => {
      await redis.start();
      await redis.call('PING');
    },
  });
}

async function connected(
  { config, clock, log, signal }: AwaitBackends,
  deadline: number,
  { backend, url, setting, connect }: Backend,
): Promise<void> {
  // An embedded one is there, or cannot be used.
  if (url === undefined) return connect();
  const address = addressOf(url);
  const unusable = (reason: string, cause?: unknown) =>
    ERRORS.create(
      'BACKEND_UNUSABLE',
      { backend, address, reason: reason.replace(/\.$/, ''), setting },
      { cause },
    );
  const cancelNotice = clock.setTimer(NOTICE_AFTER_MS, () =>
    log.warn({ backend, address, withinMs: config.startWaitMs }, `${backend} is away: waiting for it`),
  );
  let last = 'it does not answer';
  try {
    for (;;) {
      const leftMs = deadline - clock.monotonicMs();
      if (leftMs <= 0) throw unusable(`${last} (waited ${config.startWaitMs} ms)`);
      try {
        if ((await withDeadline(clock, leftMs, unlessAborted(connect(), signal))) !== TIMED_OUT) return;
      } catch (error) {
        signal?.throwIfAborted();
        last = rootReason(error);
        const mayPass = error instanceof MillraceError && error.retryable && !REFUSED.test(last);
        if (!mayPass) throw unusable(last, error);
      }
      await sleep(clock, Math.min(PAUSE_MS, leftMs), signal);
    }
  } finally {
    cancelNotice();
  }
}

/** What the backend, or the network, said itself: ours say what could not be done. */
export function rootReason(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return toWorkError(root).message;
}

/**
 * An attempt may take seconds, and whoever wants to end does not wait for it.
 * @throws the signal's reason; what the attempt throws.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Where a backend is, without user and password. */
export function addressOf(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
