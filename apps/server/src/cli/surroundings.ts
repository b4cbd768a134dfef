import type { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import type { Environment } from '../config/given-settings.js';

/** Where the signals and the last errors of a process are heard. */
export type ProcessEvents = Pick<EventEmitter, 'on' | 'off'>;

/** What a command knows of the process it runs in. */
export interface Surroundings {
  readonly env: Environment;
  /** The working directory. */
  readonly folder: string;
  /** Data, and the log: lines of JSON. */
  readonly stdout: Pick<Writable, 'write'>;
  /** What a person reads. */
  readonly stderr: Pick<Writable, 'write'>;
  readonly events: ProcessEvents;
}

/** The exit codes of all commands. */
export const EXIT = { DONE: 0, FAILED: 1, USAGE: 2, INTERRUPTED: 130 } as const;
