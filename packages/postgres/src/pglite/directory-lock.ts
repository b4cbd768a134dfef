import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CancelTimer, type Clock, type Rng, sleep } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { OWNER_ONLY } from './data-directory.js';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.js';

const BEAT_EVERY_MS = 5_000;
/** A holder whose process cannot be seen from here is dead when its file has not been touched for so long. */
const SILENT_MS = 30_000;
const TRIES = 5;

/** What the lock needs of its surroundings. */
export interface LockSurroundings {
  readonly clock: Clock;
  readonly rng: Rng;
}

/**
 * Keeps a data directory for one process: PGlite itself would let two write into the same files. In `<directory>.lock`
 * every opener puts a file of its own, then looks at the others: one that lives, and it takes its file away again.
 * Because each looks after it has written, of two openers at once at least one sees the other; because names are never
 * used twice, a dead one's file can be removed by anybody at any time.
 */
export class DirectoryLock {
  readonly #folder: string;
  readonly #file: string;
  readonly #clock: Clock;
  #cancelBeat: CancelTimer = () => {};

  private constructor(folder: string, file: string, clock: Clock) {
    this.#folder = folder;
    this.#file = file;
    this.#clock = clock;
    this.#beatLater();
  }

  /**
   * Takes the lock; a dead holder's is taken over.
   * @param directory - the data directory, which need not exist.
   * @param surroundings - time, and randomness for when two come at once.
   * @throws MillraceError `DATABASE_IN_USE`; what the file system says.
   */
  static async take(directory: string, { clock, rng }: LockSurroundings): Promise<DirectoryLock> {
    const folder = `${directory}.lock`;
    for (let left = TRIES; ; left--) {
      const file = join(folder, `${process.pid}-${randomBytes(8).toString('hex')}.json`);
      writeOwn(folder, file);
      const holder = liveHolder(folder, file);
      if (!holder) return new DirectoryLock(folder, file, clock);
      removeOwn(folder, file);
      if (left <= 1) {
        const { pid = '?', host = '?' } = holder;
        throw ERRORS.create('DATABASE_IN_USE', { directory, pid, host });
      }
      // Perhaps another opener, which has seen this one and has taken its file away too.
      await sleep(clock, 10 + 40 * rng.next());
    }
  }

  /** Gives the directory free; a second call does nothing. */
  release(): void {
    this.#cancelBeat();
    removeOwn(this.#folder, this.#file);
  }

  #beatLater(): void {
    const beat = () => {
      const now = new Date(); // The file system's kind of time, whatever clock the database was given.
      try {
        utimesSync(this.#file, now, now);
      } catch {
        // Disk trouble shows where it matters; the next beat tries again.
      }
      this.#beatLater();
    };
    this.#cancelBeat = this.#clock.setTimer(BEAT_EVERY_MS, beat, { unref: true });
  }
}

/**
 * Who has a data directory open. Only looks: nothing is written or removed, and its holder notices nothing.
 * @param directory - the data directory, which need not exist.
 * @returns the process, as far as it is known; undefined: nobody.
 */
export function directoryHolder(directory: string): Partial<ProcessIdentity> | undefined {
  const folder = `${directory}.lock`;
  for (const file of filesIn(folder)) {
    const identity = readIdentity(file);
    if (isHeld(file, identity)) return identity ?? {};
  }
  return undefined;
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return []; // Nobody has opened it, or the last one has just gone.
  }
}

function writeOwn(folder: string, file: string): void {
  for (let left = 3; ; left--) {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY });
    try {
      writeFileSync(file, JSON.stringify(ownIdentity()), { flag: 'wx' });
      return;
    } catch (error) {
      // A holder that just gave the directory free has removed the empty folder.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || left <= 1) throw error;
    }
  }
}

function removeOwn(folder: string, file: string): void {
  rmSync(file, { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // Somebody else is in it, or it has gone already.
  }
}

/** The first other one that lives; those found dead are removed. */
function liveHolder(folder: string, own: string): Partial<ProcessIdentity> | undefined {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (file === own) continue;
    const identity = readIdentity(file);
    if (isHeld(file, identity)) return identity ?? {};
    rmSync(file, { force: true });
  }
  return undefined;
}

function isHeld(file: string, identity: ProcessIdentity | undefined): boolean {
  const alive = identity && isAlive(identity);
  if (alive !== undefined) return alive;
  try {
    return Date.now() - statSync(file).mtimeMs < SILENT_MS;
  } catch {
    return false; // Gone meanwhile.
  }
}

/** Undefined for a file that is half written, or was: its age decides. */
function readIdentity(file: string): ProcessIdentity | undefined {
  try {
    const identity = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity;
    return typeof identity?.pid === 'number' ? identity : undefined;
  } catch {
    return undefined;
  }
}
