import { type ChildProcess, spawn } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CancelTimer, Clock } from '@millrace/foundation';
import { KeyPresses } from '../serve-until-end.js';
import type { Surroundings } from '../surroundings.js';
import { FolderWatch } from './folder-watch.js';
import { fingerprintOf, readReport } from './report.js';
import { Settling } from './settling.js';
import { type Deed, END_LIMIT_MS, type Happening, isLimited, type Phase, stepOf } from './supervision.js';
import { FILES_MAX, WatchedFiles } from './watched-files.js';

const CLI = fileURLToPath(new URL('../millrace.js', import.meta.url));

/** What a supervisor needs of its process. */
type SupervisorSurroundings = Pick<Surroundings, 'env' | 'folder' | 'stderr' | 'events'>;

/**
 * Runs a server in a process of its own, and another in its place whenever one of its files has changed, until a signal.
 * @param args - of `millrace`, for a server that joins its supervisor.
 * @returns the exit code of the last server.
 */
export function supervise(
  args: readonly string[],
  surroundings: SupervisorSurroundings,
  clock: Clock,
): Promise<number> {
  return new Promise((resolve) => new Supervisor(args, surroundings, clock, resolve).start());
}

/** Does what stepOf says. */
class Supervisor {
  readonly #args: readonly string[];
  readonly #surroundings: SupervisorSurroundings;
  readonly #clock: Clock;
  readonly #end: (exitCode: number) => void;
  readonly #files = new WatchedFiles();
  readonly #settling: Settling;
  readonly #folders: FolderWatch;
  readonly #warned = new Set<string>();
  readonly #keyPresses: KeyPresses;
  readonly #onSignal = {
    SIGTERM: () => this.#happens({ what: 'signal', signal: 'SIGTERM', isAgain: false }),
    SIGINT: () => this.#happens({ what: 'signal', signal: 'SIGINT', isAgain: this.#keyPresses.isAgain() }),
  };
  #phase: Phase = { at: 'running', losesJobs: false };
  #server: ChildProcess | undefined;
  #hasServed = false;
  #cancelLimit: CancelTimer = () => {};

  constructor(
    args: readonly string[],
    surroundings: SupervisorSurroundings,
    clock: Clock,
    end: (exitCode: number) => void,
  ) {
    this.#args = args;
    this.#surroundings = surroundings;
    this.#clock = clock;
    this.#end = end;
    this.#keyPresses = new KeyPresses(clock);
    this.#settling = new Settling(clock, () => this.#look());
    this.#folders = new FolderWatch({
      hint: () => this.#settling.hint(),
      failed: (folder, error) =>
        this.#warn(`Changes in ${folder} are not noticed: ${(error as Error).message}`),
    });
  }

  start(): void {
    const { events } = this.#surroundings;
    for (const [signal, listener] of Object.entries(this.#onSignal)) events.on(signal, listener);
    this.#startServer();
  }

  #happens(happening: Happening): void {
    const { phase, deeds } = stepOf(this.#phase, happening);
    const wasLimited = isLimited(this.#phase);
    this.#phase = phase;
    if (wasLimited && !isLimited(phase)) this.#cancelLimit();
    if (isLimited(phase) && !wasLimited)
      this.#cancelLimit = this.#clock.setTimer(END_LIMIT_MS, () => this.#happens({ what: 'overdue' }));
    for (const deed of deeds) this.#perform(deed);
    if (phase.at === 'ended') this.#stop(phase.exitCode);
  }

  #perform(deed: Deed): void {
    if (deed.do === 'start') this.#startServer();
    else if (deed.do === 'signal') this.#server?.kill(deed.signal);
    else this.#say(deed.line);
  }

  #startServer(): void {
    const { env, folder } = this.#surroundings;
    this.#files.begin();
    const args = [...process.execArgv, CLI, ...this.#args, ...(this.#hasServed ? ['--again'] : [])];
    const server = spawn(process.execPath, args, {
      cwd: folder,
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    this.#server = server;
    let isOver = false;
    const over = (code: number | null, signal: string | null) => {
      if (isOver) return;
      isOver = true;
      this.#happens({ what: 'ended', code, signal, isWatching: this.#files.files.length > 0 });
    };
    server.on('message', (message) => this.#hears(message));
    // Not at 'exit': its last reports may still be on their way then.
    server.on('close', over);
    server.on('error', (error) => {
      // A signal that does not reach it says nothing of its end.
      if (server.pid !== undefined) return;
      this.#say(`The server cannot be started: ${error.message}`);
      over(null, null);
    });
  }

  #hears(message: unknown): void {
    const report = readReport(message);
    if (report?.told === 'serves') {
      this.#hasServed = true;
      this.#files.serves();
      this.#happens({ what: 'serves', losesJobs: report.losesJobs });
    } else if (report?.told === 'loads') {
      if (!this.#files.loads(report.file, report.fingerprint))
        this.#warn(`The server has more than ${FILES_MAX} files: changes of some are not noticed.`);
    } else return;
    // Also because a file may have changed between being loaded and being watched.
    this.#folders.follow(this.#files.files);
    this.#settling.hint();
  }

  #look(): void {
    this.#folders.follow(this.#files.files);
    const files = this.#files.changed(fingerprintOf).map((file) => relative(this.#surroundings.folder, file));
    if (files.length > 0) this.#happens({ what: 'changed', files });
  }

  #stop(exitCode: number): void {
    const { events } = this.#surroundings;
    for (const [signal, listener] of Object.entries(this.#onSignal)) events.off(signal, listener);
    this.#settling.stop();
    this.#folders.close();
    this.#end(exitCode);
  }

  #warn(line: string): void {
    if (!this.#warned.has(line)) this.#say(line);
    this.#warned.add(line);
  }

  #say(line: string): void {
    this.#surroundings.stderr.write(`${line}\n`);
  }
}
