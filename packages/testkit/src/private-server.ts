import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.js';
import type { OwnedFolder } from './owned-folder.js';
import { freezeTree, type Identity, type OwnedProcess, spawnOwned, thawTree } from './processes.js';

/**
 * A server of the kit's own, reachable by nobody else and gone with this process.
 *
 *     running ──pause──▶ paused ──resume──▶ running
 *     running | paused ──kill──▶ down       down | running | paused ──restart──▶ running
 *     any ──stop──▶ stopped (folder removed; nothing leads out of it)
 */
export interface PrivateServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Of the server process; another one after `restart`. */
  readonly pid: number;
  /** The data folder. */
  readonly dir: string;
  /** How the process has ended, with what it said last; undefined while it runs. */
  readonly ending: string | undefined;
  /** Ends the server properly and removes its folder; calls share one promise. */
  stop(): Promise<void>;
  /** Ends the server and all its children with SIGKILL; the data stays for `restart`. */
  kill(): Promise<void>;
  /** Freezes the server and all its children with SIGSTOP; connections stay open and nobody answers. */
  pause(): Promise<void>;
  /** Lets a frozen server run on. */
  resume(): Promise<void>;
  /** Ends the server properly if it runs, and starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** What distinguishes one kind of server from another. */
export interface ServerRecipe {
  readonly name: string;
  readonly folder: OwnedFolder;
  readonly dir: string;
  readonly port?: number | undefined;
  readonly identity?: Identity | undefined;
  readonly stopSignal: NodeJS.Signals;
  command(port: number): { readonly file: string; readonly args: readonly string[] };
  url(port: number): string;
  /** Rejects unless the server that answers on the port is ready and is the one with this pid. */
  probe(port: number, pid: number): Promise<void>;
}

/** Where every private server listens, and nowhere else. */
export const HOST = '127.0.0.1';
const START_DEADLINE_MS = 5_000;
const STOP_DEADLINE_MS = 5_000;
const POLL_MS = 5;

/** Runs one server by its recipe: the life cycle that Redis and PostgreSQL share. */
export class ServerLife implements PrivateServer {
  readonly host = HOST;
  readonly #recipe: ServerRecipe;
  #port: number | undefined;
  #process: OwnedProcess | undefined;
  #stopping: Promise<void> | undefined;

  constructor(recipe: ServerRecipe) {
    this.#recipe = recipe;
    this.#port = recipe.port;
  }

  get port(): number {
    if (this.#port === undefined) throw new Error(`${this.#recipe.name} has not been started`);
    return this.#port;
  }

  get pid(): number {
    return this.#current().pid;
  }

  get url(): string {
    return this.#recipe.url(this.port);
  }

  get dir(): string {
    return this.#recipe.dir;
  }

  get ending(): string | undefined {
    const { ending, output } = this.#current();
    return ending === undefined ? undefined : `${ending}\n${output()}`;
  }

  /** Starts the server; on failure nothing is left of it. */
  async start(): Promise<void> {
    try {
      await this.#boot();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.end(this.#recipe.stopSignal).finally(() => this.#recipe.folder.remove());
    return this.#stopping;
  }

  async kill(): Promise<void> {
    await this.#current().kill();
  }

  async pause(): Promise<void> {
    freezeTree(this.#current().pid);
  }

  async resume(): Promise<void> {
    thawTree(this.#current().pid);
  }

  async restart(): Promise<void> {
    this.#current();
    await this.end(this.#recipe.stopSignal);
    await this.#boot();
  }

  /** Ends the process by a signal, by force when that takes too long; the folder stays. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    if (running === undefined || running.ending !== undefined) return;
    running.signal(signal);
    thawTree(running.pid); // A frozen server would never read the signal.
    const patience = new AbortController();
    const tooLong = delay(STOP_DEADLINE_MS, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([running.waitForExit(), tooLong]);
    patience.abort();
    await running.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #current(): OwnedProcess {
    if (this.#stopping || this.#process === undefined) {
      throw new Error(`${this.#recipe.name} has been stopped`);
    }
    return this.#process;
  }

  async #boot(): Promise<void> {
    const deadline = performance.now() + START_DEADLINE_MS;
    const wantedPort = this.#port;
    for (;;) {
      const port = wantedPort ?? (await freePort());
      const failure = await this.#try(port, deadline);
      if (failure === undefined) {
        this.#port = port;
        return;
      }
      // Somebody took the port after we looked, or an old connection still holds the one we had.
      const portTaken = /address already in use/i.test(failure.message);
      if (!portTaken || performance.now() > deadline) throw failure;
      await delay(POLL_MS);
    }
  }

  async #try(port: number, deadline: number): Promise<Error | undefined> {
    const { name, folder, dir, identity } = this.#recipe;
    const logFile = join(folder.path, `server-${Date.now()}.log`);
    const started = await spawnOwned({ ...this.#recipe.command(port), cwd: dir, logFile, identity });
    this.#process = started;
    let lastError: unknown;
    while (started.ending === undefined && performance.now() < deadline) {
      try {
        await this.#recipe.probe(port, started.pid);
        return undefined;
      } catch (error) {
        lastError = error;
        await delay(POLL_MS);
      }
    }
    const reason = started.ending ?? `no answer within ${START_DEADLINE_MS} ms (${String(lastError)})`;
    await started.kill();
    return new Error(`${name} did not start on ${HOST}:${port}: ${reason}\n${started.output()}`, {
      cause: lastError,
    });
  }
}
