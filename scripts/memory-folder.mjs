// Plain Node: this runs on a fresh clone with nothing installed.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SHARED_MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
/** Several times the most that the tests have used. */
const FREE_BYTES = 4 * 2 ** 30;
const NAME = /^millrace-test-(\d+)$/;

/**
 * Makes a temporary folder in memory for a run of the tests. Nearly every test file writes a database and removes it: on a disk the file system
 * took a sixth of the CPU.
 * @returns its path and a function that removes it, or nothing if the memory is too small or may not hold programs.
 */
export function makeMemoryFolder(parent = SHARED_MEMORY) {
  try {
    const { type, bsize, bavail } = statfsSync(parent);
    if (type !== TMPFS || bsize * bavail < FREE_BYTES) return undefined;
    removeAbandoned(parent);
    const path = join(parent, `millrace-test-${process.pid}`);
    mkdirSync(path);
    const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    // Servers that run as another user keep data in it.
    chmodSync(path, 0o1777);
    if (runsPrograms(path)) return { path, remove };
    remove();
  } catch {}
  return undefined;
}

/** Removes the folders of killed runs, which hold memory. */
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
