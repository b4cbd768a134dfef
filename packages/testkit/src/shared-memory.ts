import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes the System V segment that a killed PostgreSQL leaves behind. Each SIGKILL leaks one, Linux allows 4,096,
 * and after that no PostgreSQL on the machine starts.
 *
 * Only a segment that nobody is attached to and whose key, id and creator all match the folder's lock file goes:
 * after a reboot the same id may belong to somebody else's server.
 *
 * @param dataFolder - of a server that no longer runs; any other folder is left alone.
 */
export function removeOrphanedSharedMemory(dataFolder: string): void {
  try {
    const lock = readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
    const [key, id] = (lock[6] ?? '').trim().split(/\s+/);
    const segments = readFileSync('/proc/sysvipc/shm', 'utf8').split('\n').slice(1);
    const orphan = segments
      .map((line) => line.trim().split(/\s+/))
      // key shmid perms size cpid lpid nattch …
      .find(
        ([k, i, , , creator, , attached]) => k === key && i === id && creator === lock[0] && attached === '0',
      );
    if (orphan && id) execFileSync('ipcrm', ['-m', id], { stdio: 'ignore' });
  } catch {
    // No lock file: the server ended properly and took its segment along. No /proc or ipcrm: nothing to be done.
  }
}
