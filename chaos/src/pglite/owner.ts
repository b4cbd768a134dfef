import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { type Ledger, readLedger, SHORT_LIVED_PGLITE, until } from '@millrace/testkit';
import { programFile } from '../programs.js';
import type { PgliteBrief } from './settings.js';

/** How a process ended that was asked to. */
export interface Ending {
  readonly isClean: boolean;
  readonly tookMs: number;
}

const ENDS_WITHIN_MS = 15_000;
const STARTS_WITHIN_MS = 30_000;
/** Writes follow each other; of tasks there may be none left. */
const UNDER_WAY_WITHIN_MS = 2000;
/** Two writes and the pause between them. */
const LOOK_AGAIN_MS = 12;
/** The ledger is long, and those who look are not to be the load. */
const LOOK_EVERY_MS = 20;

/** What is written down when something begins, and when it is over. */
const UNDER_WAY = { write: ['writing', 'written'], task: ['began', 'ended'] } as const;

/** One after the other on the same directory: processes with an embedded database. */
export class Owners implements AsyncDisposable {
  readonly #brief: Omit<PgliteBrief, 'batches'>;
  readonly #ledger: Ledger;
  #current: ChildProcess | undefined;

  /** @param ledger - told of every one that came up and that was killed. */
  constructor(brief: Omit<PgliteBrief, 'batches'>, ledger: Ledger) {
    this.#brief = brief;
    this.#ledger = ledger;
  }

  /** The one that lives. */
  get pid(): number {
    return this.#current?.pid ?? 0;
  }

  /**
   * Starts one; it need not work yet.
   * @param batches - how many of the plan it starts.
   */
  launch(batches: number): void {
    const brief: PgliteBrief = { ...this.#brief, batches };
    this.#current = spawn(
      process.execPath,
      [...SHORT_LIVED_PGLITE, programFile('children/pglite-owner'), JSON.stringify(brief)],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    );
  }

  /**
   * Starts one and waits until it works.
   * @param batches - how many of the plan it starts.
   */
  async begin(batches: number): Promise<void> {
    const from = performance.now();
    this.launch(batches);
    const child = this.#current as ChildProcess;
    let isUp = false;
    child.once('message', () => {
      isUp = true;
    });
    await until(() => isUp || !isRunning(child), {
      what: 'an embedded database to open',
      deadlineMs: STARTS_WITHIN_MS,
    });
    if (!isUp) throw new Error(`it ended with ${child.exitCode ?? child.signalCode} before it worked`);
    this.#ledger.append({
      kind: 'took-over',
      owner: child.pid,
      tookMs: Math.round(performance.now() - from),
    });
  }

  /** Kills it with SIGKILL; resolves when it is dead. */
  async kill(): Promise<void> {
    const child = this.#current;
    if (!child || !isRunning(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    this.#ledger.append({ kind: 'killed', owner: child.pid });
  }

  /** Asks it to end (SIGTERM). */
  async end(): Promise<Ending> {
    const child = this.#current as ChildProcess;
    const from = performance.now();
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
    await ended;
    clearTimeout(killer);
    return { isClean: child.exitCode === 0, tookMs: performance.now() - from };
  }

  /** Has another process open the same directory; resolves when that has written down what it was told. */
  async openBeside(): Promise<void> {
    const { dataDir, ledger } = this.#brief;
    const args = [
      ...SHORT_LIVED_PGLITE,
      programFile('children/pglite-opener'),
      dataDir,
      ledger,
      String(this.pid),
    ];
    const opener = spawn(process.execPath, args, { stdio: 'inherit' });
    await once(opener, 'exit');
  }

  /**
   * Waits until the one that lives has had so many more writes acknowledged.
   * @param count - how many.
   */
  async written(count: number): Promise<void> {
    const before = this.#count('written');
    await until(() => this.#count('written') >= before + count, {
      what: `${count} writes`,
      deadlineMs: STARTS_WITHIN_MS,
      intervalMs: LOOK_EVERY_MS,
    });
  }

  /**
   * Kills the one that lives in the middle of something: it is frozen, looked at, and let run on when nothing of that is under way.
   * @param rng - when to look.
   * @returns false when that does not come; it lives on then.
   */
  async killAmid(what: 'write' | 'task', rng: Rng): Promise<boolean> {
    for (const from = performance.now(); performance.now() - from < UNDER_WAY_WITHIN_MS; ) {
      this.#current?.kill('SIGSTOP');
      if (this.#isUnderWay(what)) {
        await this.kill();
        return true;
      }
      this.#current?.kill('SIGCONT');
      // What was due while it was frozen is written at once: looks as far apart as writes are would all fall between two of them.
      await wait(rng.integer(0, LOOK_AGAIN_MS));
    }
    return false;
  }

  /** Ends whoever is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #isUnderWay(what: 'write' | 'task'): boolean {
    const [begun, ended] = UNDER_WAY[what];
    return this.#count(begun) > this.#count(ended);
  }

  /** How often the one that lives has written this down. */
  #count(kind: string): number {
    return readLedger(this.#brief.ledger).filter((entry) => entry.kind === kind && entry.pid === this.pid)
      .length;
  }
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;
