// Plain Node: this runs on a fresh clone with nothing installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SHARED_MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
/** Several times of what the tests have ever kept at once. */
const FREE_BYTES = 4 * 2 ** 30;
const NAME = /^millrace-test-(\d+)$/;

/**
 * Makes a temporary folder in memory for a run of the tests: they write a database for nearly every file, and each is gone seconds later. On a
 * disk a sixth of all CPU was the file system's.
 * @returns its path and how it is removed, or nothing where there is no room for it or no program may run in it.
 */
export function makeMemoryFolder(parent = SHARED_MEMORY) {
  try {
    const { type, bsize, bavail } = statfsSync(parent);
    if (type !== TMPFS || bsize * bavail < FREE_BYTES) return undefined;
    removeAbandoned(parent);
    const path = join(parent, `millrace-test-${process.pid}`);
    mkdirSync(path);
    const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    // Servers of other users keep their data in it.
    chmodSync(path, 0o1777);
    if (runsPrograms(path)) return { path, remove };
    remove();
  } catch {}
  return undefined;
}

/** Of runs that were killed: nobody else would give the memory back. */
function removeAbandoned(parent) {
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch ({ code }) {
    return code === 'EPERM';
  }
}

function runsPrograms(folder) {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(program).status === 0;
}
