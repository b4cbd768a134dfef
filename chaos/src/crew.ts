import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { wait } from '@millrace/async-utils';
import type { Ledger } from '@millrace/testkit/ledger';
import { programFile } from './programs.js';

/** What every process of a crew is. */
export interface CrewParts {
  /** A file of `children`, without its ending. */
  readonly program: string;
  /** What every one is told, as JSON on its command line. */
  readonly brief: object;
  /** Where deaths and pauses are written down. */
  readonly ledger: Ledger;
  /** The file that what they print is added to; they print where we do unless given. */
  readonly output?: string | undefined;
}

const UP_WITHIN_MS = 20_000;
const ENDS_WITHIN_MS = 15_000;
/** A worker that cannot even start (Redis is away) is tried again after a while, but not for ever. */
const START_AGAIN_MS = 250;
const STARTS_MAX = 80;

/**
 * The worker processes of a scenario. One that ends is replaced at once, as a supervisor would; the ledger is told who
 * died, who was paused, and who was woken.
 */
export class Crew implements AsyncDisposable {
  readonly #command: readonly string[];
  readonly #ledger: Ledger;
  readonly #stdio: StdioOptions;
  readonly #places: ChildProcess[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #stopping = false;
  #deaths = 0;

  constructor({ program, brief, ledger, output }: CrewParts) {
    this.#command = [programFile(`children/${program}`), JSON.stringify(brief)];
    this.#ledger = ledger;
    const printed = output === undefined ? 'inherit' : openSync(output, 'a');
    this.#stdio = ['ignore', printed, printed, 'ipc'];
  }

  /** How many have died so far. */
  get deaths(): number {
    return this.#deaths;
  }

  /** How many there are. */
  get size(): number {
    return this.#places.length;
  }

  /** Their process ids by place, of the starting ones too. */
  get pids(): readonly number[] {
    return this.#places.map(({ pid = 0 }) => pid);
  }

  /**
   * Starts so many workers and waits until they work.
   * @param count - how many.
   */
  async start(count: number): Promise<void> {
    for (let place = 0; place < count; place++) this.#hire(place);
    await this.everyoneUp();
  }

  /** Waits until the replacements that are starting work. */
  async everyoneUp(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
  }

  /** Kills a worker with SIGKILL; resolves when it is dead and its replacement is starting. */
  async kill(place: number): Promise<void> {
    const worker = this.#at(place);
    if (!isRunning(worker)) return;
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  }

  /**
   * Asks a worker to end (SIGTERM); resolves when it has.
   * @returns whether it ended by itself, without an error.
   */
  async dismiss(place: number): Promise<boolean> {
    const worker = this.#at(place);
    if (!isRunning(worker)) return true;
    worker.kill('SIGTERM');
    const killer = setTimeout(() => worker.kill('SIGKILL'), ENDS_WITHIN_MS);
    await once(worker, 'exit');
    clearTimeout(killer);
    return worker.exitCode === 0;
  }

  /** Freezes a worker, its connections and leases left as they are. */
  pause(place: number): void {
    this.#ledger.append({ kind: 'paused', worker: this.#at(place).pid });
    this.#at(place).kill('SIGSTOP');
  }

  /** Lets a frozen worker run on. */
  wake(place: number): void {
    this.#at(place).kill('SIGCONT');
    this.#ledger.append({ kind: 'woken', worker: this.#at(place).pid });
  }

  /**
   * Asks all to end (SIGTERM).
   * @returns whether each has ended by itself, in time and without an error.
   */
  async stop(): Promise<boolean> {
    this.#stopping = true;
    await Promise.allSettled(this.#starting);
    for (const worker of this.#places) worker.kill('SIGTERM');
    await this.#gone(ENDS_WITHIN_MS);
    return this.#places.every(({ exitCode }) => exitCode === 0);
  }

  /** Ends whoever is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    await this.#gone(0);
  }

  async #gone(withinMs: number): Promise<void> {
    const kill = () => this.#places.forEach((worker) => void worker.kill('SIGKILL'));
    const killer = setTimeout(kill, withinMs);
    await Promise.all(this.#places.map((worker) => isRunning(worker) && once(worker, 'exit')));
    clearTimeout(killer);
  }

  #at(place: number): ChildProcess {
    const worker = this.#places[place];
    if (!worker) throw new Error(`there is no worker ${place} among ${this.size}`);
    return worker;
  }

  #hire(place: number): void {
    const up = this.#keepTrying(place).finally(() => this.#starting.delete(up));
    up.catch(() => {}); // Whoever waits for the crew hears of it.
    this.#starting.add(up);
  }

  async #keepTrying(place: number): Promise<void> {
    for (let starts = 0; starts < STARTS_MAX && !this.#stopping; starts++) {
      const worker = spawn(process.execPath, this.#command, { stdio: this.#stdio });
      this.#places[place] = worker;
      if (await isUp(worker)) {
        worker.once('exit', () => this.#replace(place, worker));
        return;
      }
      this.#ledger.append({ kind: 'died', worker: worker.pid });
      await wait(START_AGAIN_MS);
    }
    if (!this.#stopping) throw new Error(`worker ${place} did not start, ${STARTS_MAX} times in a row`);
  }

  #replace(place: number, dead: ChildProcess): void {
    if (this.#stopping) return;
    this.#deaths += 1;
    this.#ledger.append({ kind: 'died', worker: dead.pid });
    this.#hire(place);
  }
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** Whether it works now; false when it died first. */
async function isUp(worker: ChildProcess): Promise<boolean> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error('a worker did not start')), UP_WITHIN_MS);
  const { signal } = over;
  try {
    const up = once(worker, 'message', { signal }).then(() => true);
    const dead = once(worker, 'exit', { signal }).then(() => false);
    up.catch(() => {}); // Both reject when the other one came first.
    dead.catch(() => {});
    return await Promise.race([up, dead]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
