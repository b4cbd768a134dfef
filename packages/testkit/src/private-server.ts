import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './machine.js';
import type { OwnedFolder } from './owned-folder.js';
import { freezeTree, type Identity, type OwnedProcess, spawnOwned, thawTree } from './processes.js';

/** The difference between one kind of server and another. */
export interface ServerRecipe {
  readonly name: string;
  readonly folder: OwnedFolder;
  readonly dir: string;
  readonly identity?: Identity | undefined;
  readonly stopSignal: NodeJS.Signals;
  command(port: number): { readonly file: string; readonly args: readonly string[] };
  url(port: number): string;
  /** Rejects unless the server that answers on the port is ready and has this pid. */
  probe(port: number, pid: number): Promise<void>;
}

/** The address on which every private server listens. */
export const HOST = '127.0.0.1';
// A machine that runs all tests at once needed more than 5 s to start six PostgreSQL servers.
const START_DEADLINE_MS = 20_000;
const STOP_DEADLINE_MS = 5_000;
const POLL_MS = 5;

/**
 * A server that only this process uses and that ends with it.
 *
 *     running ──pause──▶ paused ──resume──▶ running
 *     running | paused ──kill──▶ down       down | running | paused ──restart──▶ running
 *     any ──stop──▶ stopped (folder removed; final)
 */
export class PrivateServer implements AsyncDisposable {
  readonly host = HOST;
  readonly #recipe: ServerRecipe;
  #port: number | undefined;
  #process: OwnedProcess | undefined;
  #stopping: Promise<void> | undefined;

  constructor(recipe: ServerRecipe) {
    this.#recipe = recipe;
  }

  get port(): number {
    if (this.#port === undefined) throw new Error(`${this.#recipe.name} has not been started`);
    return this.#port;
  }

  /** The pid of the server process. `restart` changes it. */
  get pid(): number {
    return this.#current().pid;
  }

  get url(): string {
    return this.#recipe.url(this.port);
  }

  /** The data folder. */
  get dir(): string {
    return this.#recipe.dir;
  }

  /** Starts the server. After a failure nothing is left of it. */
  async start(): Promise<void> {
    try {
      await this.#boot();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends the server cleanly and removes its folder. Calls share one promise. */
  stop(): Promise<void> {
    this.#stopping ??= this.end().finally(() => this.#recipe.folder.remove());
    return this.#stopping;
  }

  /** Kills the server and its children (SIGKILL). `restart` uses the same data. */
  async kill(): Promise<void> {
    await this.#current().kill();
  }

  /** Freezes the server and its children (SIGSTOP). Connections stay open without a response. */
  async pause(): Promise<void> {
    freezeTree(this.#current().pid);
  }

  /** Lets a frozen server continue. */
  async resume(): Promise<void> {
    thawTree(this.#current().pid);
  }

  /** Ends the server cleanly if it runs, and starts it on the same port and data. */
  async restart(): Promise<void> {
    this.#current();
    await this.end();
    await this.#boot();
  }

  /** Ends the process with a signal, and kills it if that takes too long. The folder stays. */
  protected async end(signal = this.#recipe.stopSignal): Promise<void> {
    const running = this.#process;
    if (running === undefined || running.ending !== undefined) return;
    running.signal(signal);
    thawTree(running.pid); // A frozen server does not read the signal.
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
      const failure = await this.#attempt(port, deadline);
      if (failure === undefined) {
        this.#port = port;
        return;
      }
      // Another program took the port since the check, or an old connection still holds ours.
      const portTaken = /address already in use/i.test(failure.message);
      if (!portTaken || performance.now() > deadline) throw failure;
      await delay(POLL_MS);
    }
  }

  async #attempt(port: number, deadline: number): Promise<Error | undefined> {
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
