import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  atProcessEnd,
  isProcessGone,
  killTree,
  listProcesses,
  readProcess,
  workingDirectory,
} from './processes.js';

/** A temporary folder that belongs to this process. */
export interface OwnedFolder {
  readonly path: string;
  /** Removes the folder and its content. A second call does nothing. */
  remove(): void;
}

// millrace-<owner's pid>-<owner's start time>-<pid namespace>-<six random characters>. The start time reveals a
// reused pid. The namespace keeps containers that share one temporary folder from sweeping each other's servers.
const NAME = /^millrace-(\d+)-([0-9a-z]+)-([0-9a-z]+)-\w{6}$/;

/**
 * Creates a temporary folder. It is removed by `remove()`, by the end of this process or, after a SIGKILL, by the next
 * call in any process.
 */
export function createOwnedFolder(): OwnedFolder {
  sweepAbandonedFolders();
  const startedAt = readProcess(process.pid)?.startedAt ?? '0';
  const path = mkdtempSync(join(tmpdir(), `millrace-${process.pid}-${startedAt}-${pidNamespace()}-`));
  const remove = () => {
    forget();
    removeFolder(path);
  };
  const forget = atProcessEnd(remove);
  return { path, remove };
}

/**
 * Removes the folders of processes that ended without doing so, and kills what still runs in them: a backend that
 * was frozen when its runner got SIGKILL. Returns the removed paths.
 */
export function sweepAbandonedFolders(parent: string = tmpdir()): string[] {
  const abandoned = readdirSync(parent)
    .filter(isAbandoned)
    .map((name) => join(parent, name));
  if (abandoned.length === 0) return [];
  killStragglers(abandoned);
  return abandoned.filter((path) => {
    try {
      removeFolder(path);
      return true;
    } catch {
      return false; // It belongs to another user.
    }
  });
}

function isAbandoned(name: string): boolean {
  const [, pid, startedAt, namespace] = NAME.exec(name) ?? [];
  if (pid === undefined || namespace !== pidNamespace()) return false;
  return isProcessGone(Number(pid)) || readProcess(Number(pid))?.startedAt !== startedAt;
}

function killStragglers(folders: readonly string[]): void {
  // Servers run detached, without a terminal. A person's shell in the folder has one.
  for (const { pid, hasTerminal } of listProcesses()) {
    if (hasTerminal || pid === process.pid) continue;
    const cwd = workingDirectory(pid);
    if (cwd !== undefined && folders.some((folder) => cwd.startsWith(`${folder}/`))) killTree(pid);
  }
}

function removeFolder(path: string): void {
  removeSharedMemory(join(path, 'data'));
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
}

/**
 * Removes the System V segment that a killed PostgreSQL leaves behind. Linux allows 4,096, and each SIGKILL leaks one.
 * A segment goes only if nothing is attached to it and its key, id and creator match the lock file of the data folder:
 * after a reboot another server may have the same id.
 */
function removeSharedMemory(dataFolder: string): void {
  try {
    const lock = readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
    const [key, id = ''] = (lock[6] ?? '').trim().split(/\s+/);
    const isOrphan = readFileSync('/proc/sysvipc/shm', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      // key shmid perms size cpid lpid nattch …
      .some(
        ([k, i, , , creator, , attached]) => k === key && i === id && creator === lock[0] && attached === '0',
      );
    if (isOrphan) execFileSync('ipcrm', ['-m', id], { stdio: 'ignore' });
  } catch {
    // No lock file: the server stopped normally and removed its segment. No /proc or ipcrm: the segment stays.
  }
}

function pidNamespace(): string {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]).toString(36);
  } catch {
    return '0';
  }
}
