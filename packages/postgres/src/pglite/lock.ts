import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Loop, type LoopKit, loop, sleep } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

/** The data is everything that jobs carry, and PGlite makes its files readable for all users. */
export const OWNER_ONLY = 0o700;

const BEAT_EVERY_MS = 5_000;
/** Age of its file after which a holder counts as dead if its process cannot be seen from here. */
const SILENT_MS = 30_000;
const ATTEMPTS_MAX = 5;

/** Identifies a process, so that its end can be noticed even after another process has got its pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process in the unit of its system. It differs if the pid was given out again. */
  readonly startedAt: string;
  /** Where the pid is valid: one boot of one machine, one container. */
  readonly world: string;
  readonly host: string;
}

/**
 * Locks a data directory for one process: PGlite itself would let two write into the same files.
 *
 * Every opener puts a file of its own into `<directory>.lock`, then checks the others. If one of them is alive, it removes its own file again. Of two
 * openers at once at least one sees the other, because each checks after it has written. A dead opener's file can be removed at any time, because no
 * name is used twice.
 */
export class DirectoryLock {
  readonly #folder: string;
  readonly #file: string;
  readonly #beat: Loop;

  private constructor(folder: string, file: string, kit: LoopKit) {
    this.#folder = folder;
    this.#file = file;
    const touch = async () => {
      const now = new Date(); // The time of the file system, not of the database's clock.
      utimesSync(file, now, now);
    };
    this.#beat = loop(kit, 'Touch the lock of the database', BEAT_EVERY_MS, touch, { unref: true });
    this.#beat.start();
  }

  /**
   * Takes the lock, from a dead holder too.
   * @param directory - need not exist.
   * @throws MillraceError `DATABASE_IN_USE`; the error of the file system.
   */
  static async take(directory: string, kit: LoopKit): Promise<DirectoryLock> {
    const folder = lockOf(directory);
    for (let left = ATTEMPTS_MAX; ; left--) {
      const file = join(folder, `${process.pid}-${randomBytes(8).toString('hex')}.json`);
      writeOwn(folder, file);
      const others = filesIn(folder).filter((other) => other !== file);
      const holder = findHolder(others, (dead) => rmSync(dead, { force: true }));
      if (!holder) return new DirectoryLock(folder, file, kit);
      removeOwn(folder, file);
      if (left <= 1) {
        const { pid = '?', host = '?' } = holder;
        throw ERRORS.create('DATABASE_IN_USE', { directory, pid, host });
      }
      // The holder may be another opener, which has seen this one and removes its file too.
      await sleep(kit.clock, 10 + 40 * kit.rng.next());
    }
  }

  /** Releases the directory. A second call does nothing. */
  release(): void {
    void this.#beat.stop();
    removeOwn(this.#folder, this.#file);
  }
}

/**
 * Returns the process that has a data directory open, as far as it is known, or undefined. Writes and removes nothing.
 * @param directory - need not exist.
 */
export function directoryHolder(directory: string): Partial<ProcessIdentity> | undefined {
  try {
    return findHolder(filesIn(lockOf(directory)));
  } catch {
    return undefined; // The folder does not exist, or its last opener has just left.
  }
}

/** Returns the identity of this process. */
export const ownIdentity = (): ProcessIdentity => ({
  pid: process.pid,
  startedAt: startedAt(process.pid) ?? '',
  world: ownWorld(),
  host: hostname(),
});

const lockOf = (directory: string) => `${directory}.lock`;

const filesIn = (folder: string) => readdirSync(folder).map((name) => join(folder, name));

function writeOwn(folder: string, file: string): void {
  for (let left = 3; ; left--) {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY });
    try {
      writeFileSync(file, JSON.stringify(ownIdentity()), { flag: 'wx' });
      return;
    } catch (error) {
      // A holder that released the directory meanwhile has removed the empty folder.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || left <= 1) throw error;
    }
  }
}

function removeOwn(folder: string, file: string): void {
  rmSync(file, { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // Another opener has a file in it, or has removed it.
  }
}

/** Returns the first holder that may be alive. Calls `onDead` with the files of dead ones before it. */
function findHolder(
  files: readonly string[],
  onDead: (file: string) => void = () => {},
): Partial<ProcessIdentity> | undefined {
  for (const file of files) {
    const holder = holderOf(file);
    if (holder) return holder;
    onDead(file);
  }
  return undefined;
}

/** Returns the process that a file names, as far as it is known, unless the process is dead. */
function holderOf(file: string): Partial<ProcessIdentity> | undefined {
  let identity: Partial<ProcessIdentity> = {};
  try {
    identity = { ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity>) };
    const { pid, startedAt: noted = '', world } = identity;
    if (world === ownWorld()) return startedAt(pid) === noted ? identity : undefined;
  } catch {
    // The file is half-written, or removed meanwhile.
  }
  // The process cannot be seen from here: another machine, another container, before a reboot.
  const touchedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - touchedMs < SILENT_MS ? identity : undefined;
}

function ownWorld(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Returns undefined if the process does not exist or is a zombie. */
function startedAt(pid = 0): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the program's name, which may hold anything, the state is the first field and the start time the twentieth.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    if (process.platform === 'linux') return undefined;
  }
  try {
    const line = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { stdio: 'pipe' });
    return line.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}
