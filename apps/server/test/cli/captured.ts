import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.js';
import type { Screen, Surroundings } from '../../src/cli/surroundings.js';

/** A command that runs in this process. */
export interface Captured {
  /** Takes signals and defects, as a process would. */
  readonly events: EventEmitter;
  readonly out: () => string;
  readonly err: () => string;
  readonly exitCode: Promise<number>;
}

/** What a command finds around itself; the environment is empty and there is no terminal unless given. */
export interface CapturedOptions {
  readonly env?: Record<string, string>;
  readonly folder?: string;
  /** What is piped in, or typed at the terminal. */
  readonly input?: string;
  /** Both outputs and the input are a terminal. */
  readonly isTerminal?: boolean;
}

/** Runs a command of the CLI in this process. */
export function runCaptured(args: readonly string[], options: CapturedOptions = {}): Captured {
  const { events, out, err, surroundings } = capturedSurroundings(options);
  return { events, exitCode: runCli(args, surroundings), out, err };
}

/** Surroundings that remember what is written. */
export function capturedSurroundings(options: CapturedOptions = {}) {
  const texts = { out: '', err: '' };
  const { env = {}, folder = '/nowhere', input = '', isTerminal = false } = options;
  const into = (name: 'out' | 'err'): Screen =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(text, _encoding, done) {
          texts[name] += String(text);
          done();
        },
      }),
      isTerminal && { isTTY: true, columns: 100 },
    );
  const events = new EventEmitter();
  const surroundings: Surroundings = {
    env,
    folder,
    stdin: Object.assign(Readable.from(input === '' ? [] : [input]), isTerminal && { isTTY: true }),
    stdout: into('out'),
    stderr: into('err'),
    events,
  };
  return { surroundings, events, out: () => texts.out, err: () => texts.err };
}
