import type { Clock } from '@millrace/foundation';
import type { Logger as Pino } from 'pino';
import type { RunningServer } from '../start-server.js';
import { duration } from './show/amounts.js';
import { EXIT, type ProcessEvents } from './surroundings.js';

/** A server and what may end it. */
export interface Serving {
  /** Starts it; the signal aborts when it shall end before it has started. */
  start(signal: AbortSignal): Promise<RunningServer>;
  /** From the signal to the end of the process at the latest. */
  readonly exitMs: number;
  /** The same after SIGHUP, by which a supervisor ends it for another to take its place; without it that signal is not handled. */
  readonly replacedMs?: number | undefined;
  readonly events: ProcessEvents;
  readonly clock: Clock;
  readonly log: Pino;
  /** Tells whoever started it. */
  say(line: string): void;
}

/**
 * Serves until a signal or a defect ends it.
 *
 * The first SIGTERM or SIGINT lets work end; the process has ended after `exitMs`, whatever hangs: leases give the work to others.
 * Another SIGTERM changes nothing, another SIGINT ends at once. A start that is under way ends with its present step.
 * @returns the exit code of the process.
 * @throws what the start throws.
 */
export async function serveUntilEnd(serving: Serving): Promise<number> {
  const { events, log, say } = serving;
  const starting = new AbortController();
  const server = serving.start(starting.signal);
  const defect = (name: string) => (error: unknown) => {
    log.fatal({ err: error }, name);
    say(`Millrace ends: ${name}: ${error instanceof Error ? error.message : String(error)}`);
    end(EXIT.FAILED);
  };
  const listeners: Record<string, (error: unknown) => void> = {
    SIGTERM: () => signals.heard('SIGTERM'),
    SIGINT: () => signals.heard('SIGINT'),
    ...(serving.replacedMs !== undefined && { SIGHUP: () => signals.heard('SIGHUP') }),
    uncaughtException: defect('an exception that nobody caught'),
    unhandledRejection: defect('a rejection that nobody handled'),
  };
  let end: (exitCode: number) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<number>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const signals = new Signals(
    serving,
    server,
    (exitCode) => end(exitCode),
    () => starting.abort(),
  );
  server.catch((error) => {
    if (!signals.isStopping) fail(error);
  });
  for (const [event, listener] of Object.entries(listeners)) events.on(event, listener);
  try {
    return await ended;
  } finally {
    signals.forget();
    for (const [event, listener] of Object.entries(listeners)) events.off(event, listener);
  }
}

/** What the signals have asked for so far. */
class Signals {
  readonly #serving: Serving;
  readonly #server: Promise<RunningServer>;
  readonly #end: (exitCode: number) => void;
  readonly #abortStart: () => void;
  readonly #keyPresses: KeyPresses;
  #hasStarted = false;
  #cancelExit: (() => void) | undefined;

  constructor(
    serving: Serving,
    server: Promise<RunningServer>,
    end: (exitCode: number) => void,
    abortStart: () => void,
  ) {
    this.#serving = serving;
    this.#server = server;
    this.#end = end;
    this.#abortStart = abortStart;
    this.#keyPresses = new KeyPresses(serving.clock);
    server.then(
      () => {
        this.#hasStarted = true;
      },
      () => {},
    );
  }

  get isStopping(): boolean {
    return this.#cancelExit !== undefined;
  }

  heard(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void {
    if (signal === 'SIGINT' && this.#keyPresses.isAgain()) {
      this.#serving.say('Millrace ends at once.');
      this.#end(EXIT.INTERRUPTED);
    }
    if (!this.isStopping) this.#stop(signal);
  }

  forget(): void {
    this.#cancelExit?.();
  }

  #stop(signal: string): void {
    const { clock, log, say } = this.#serving;
    const { exitMs: endMs, replacedMs = endMs } = this.#serving;
    const exitMs = signal === 'SIGHUP' ? replacedMs : endMs;
    let closing: RunningServer | undefined;
    this.#cancelExit = clock.setTimer(exitMs, () => {
      const waitingFor = closing?.closing ?? 'the start';
      log.warn({ waitingFor }, 'The grace period is over: the process ends, leases give its work to others');
      this.#end(EXIT.DONE);
    });
    log.info({ signal, withinMs: exitMs }, 'Stopping: no more requests are taken, work may end');
    const what = this.#hasStarted
      ? `letting work end, within ${duration(exitMs)}.`
      : 'stopping, when this step of the start is over.';
    say(`${signal}: ${what}${signal === 'SIGINT' ? ' Once more ends at once.' : ''}`);
    this.#abortStart();
    const close = (server: RunningServer) => {
      closing = server;
      return server.close().catch((error: unknown) => log.error({ err: error }, 'Something did not close'));
    };
    // A start that fails now has cleaned up after itself.
    this.#server.then(close, () => {}).then(() => this.#end(EXIT.DONE));
  }
}

/** A terminal sends SIGINT to npm and to this process, and npm forwards it. Two signals within 300 ms are one key press. */
const ONE_KEY_PRESS_MS = 300;

/** Tells a second press of Ctrl-C from a repeated signal of the first. */
export class KeyPresses {
  readonly #clock: Clock;
  #firstAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a SIGINT. Reports whether it belongs to a second key press. */
  isAgain(): boolean {
    const now = this.#clock.monotonicMs();
    this.#firstAt ??= now;
    return now - this.#firstAt >= ONE_KEY_PRESS_MS;
  }
}
