import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atProcessEnd } from './process-end.js';
import { isProcessGone, listProcesses, readProcess, workingDirectory } from './process-table.js';
import { killTree } from './process-tree.js';
import { removeOrphanedSharedMemory } from './shared-memory.js';

/** A temporary folder that belongs to this process. */
export interface OwnedFolder {
  readonly path: string;
  /** Removes the folder and all in it; a second call does nothing. */
  remove(): void;
}

// millrace-<owner's pid>-<owner's start time>-<pid namespace>-<six random characters>. The start time unmasks a
// reused pid. The namespace keeps containers that share one temporary folder from sweeping each other's servers.
const NAME = /^millrace-(\d+)-([0-9a-z]+)-([0-9a-z]+)-\w{6}$/;

/**
 * Makes a temporary folder that goes when it is removed, when this process ends, or, after a SIGKILL, at the next
 * start of any process that uses the kit.
 * @returns the folder.
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
 * Removes the folders of processes that ended without doing so, and ends what still runs in them: a backend that
 * was frozen when its runner got SIGKILL never wakes to notice.
 * @returns the paths removed.
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
      return false; // Another user's folder: theirs to sweep.
    }
  });
}

function isAbandoned(name: string): boolean {
  const [, pid, startedAt, namespace] = NAME.exec(name) ?? [];
  if (pid === undefined || namespace !== pidNamespace()) return false;
  return isProcessGone(Number(pid)) || readProcess(Number(pid))?.startedAt !== startedAt;
}

function killStragglers(folders: readonly string[]): void {
  // Servers work inside their folder and, spawned detached, have no terminal; a person's shell in there has one.
  for (const { pid, hasTerminal } of listProcesses()) {
    if (hasTerminal || pid === process.pid) continue;
    const cwd = workingDirectory(pid);
    if (cwd !== undefined && folders.some((folder) => cwd.startsWith(`${folder}/`))) killTree(pid);
  }
}

function removeFolder(path: string): void {
  removeOrphanedSharedMemory(join(path, 'data'));
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
}

function pidNamespace(): string {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]).toString(36);
  } catch {
    return '0';
  }
}
