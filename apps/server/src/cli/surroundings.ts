import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../config/settings.js';

/** Where the signals and the last errors of a process are heard. */
export type ProcessEvents = Pick<EventEmitter, 'on' | 'off'>;

/** Where a command writes to; a terminal says so. */
export type Screen = Writable & {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number;
  readonly rows?: number;
};

/** What a command knows of the process it runs in. */
export interface Surroundings {
  readonly env: Environment;
  /** The working directory. */
  readonly folder: string;
  /** What is piped in, or typed. */
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  /** Data, and the log: lines of JSON. */
  readonly stdout: Screen;
  /** What a person reads. */
  readonly stderr: Screen;
  readonly events: ProcessEvents;
}

/** The exit codes of all commands. */
export const EXIT = { DONE: 0, FAILED: 1, USAGE: 2, INTERRUPTED: 130 } as const;

/** Takes the exit code of a command; 0 when it is not called. */
export type End = (exitCode: number) => void;

/** Reports whether the output is a terminal that can overwrite lines, which progress bars need. */
export const isTerminal = (screen: Screen, env: Environment): boolean =>
  screen.isTTY === true && env.TERM !== 'dumb';

/** Reports whether the output shows colours. Follows https://no-color.org. */
export const hasColours = (screen: Screen, env: Environment): boolean =>
  isTerminal(screen, env) && (env.NO_COLOR ?? '') === '';
