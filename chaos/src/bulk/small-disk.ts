import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary, type RedisServer, startRedis } from '@millrace/testkit';

/*
 * A disk that is full for one process alone: the system lets none of its files grow beyond a size (RLIMIT_FSIZE), and a
 * write beyond it is cut short, as on a full disk. Unlike a small file system it needs no rights to mount one, and leaves
 * nothing behind when this process is killed.
 */

const run = promisify(execFile);
/** Room for some commands more: the last one is written in part. */
const ROOM_BYTES = 20_000;

/**
 * Starts a Redis that can be left without disk space. It has to ignore SIGXFSZ, which would end it where a full disk only
 * fails its write; ignored signals are handed down by a shell and by nothing in Node.
 */
export function startOnSmallDisk(folder: string, args: readonly string[]): Promise<RedisServer> {
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  const script = `#!/bin/sh\ntrap '' XFSZ\nexec '${findBinary('redis-server')}' "$@"\n`;
  writeFileSync(join(programs, 'redis-server'), script, { mode: 0o755 });
  const { PATH = '' } = process.env;
  process.env.PATH = `${programs}${delimiter}${PATH}`;
  try {
    // Looks for the program before its first await.
    return startRedis({ args });
  } finally {
    process.env.PATH = PATH;
  }
}

/** Leaves next to no room for what this Redis appends. */
export const fillDisk = (redis: RedisServer): Promise<void> =>
  limitFiles(redis, largestFile(redis) + ROOM_BYTES);

/** Makes room again. */
export const freeDisk = (redis: RedisServer): Promise<void> => limitFiles(redis, 'unlimited');

async function limitFiles({ pid }: RedisServer, bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

function largestFile({ dir }: RedisServer): number {
  const appended = join(dir, 'appendonlydir');
  return Math.max(...readdirSync(appended).map((name) => statSync(join(appended, name)).size));
}
