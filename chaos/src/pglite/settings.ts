import type { OutboxBrief } from '../outbox/settings.js';

/** What a process with an embedded database is told when it is started. */
export interface PgliteBrief extends Omit<OutboxBrief, 'url' | 'beginsAt'> {
  readonly dataDir: string;
  /** It starts so many batches of the plan, those that were started before it included. */
  readonly batches: number;
}

/** How much happens in a run. */
export interface PgliteScale {
  /** How often the process is killed while it writes. */
  readonly kills: number;
  /** Before one kill of so many, others try to open the directory. */
  readonly openEvery: number;
  /** How many of them at once. */
  readonly openers: number;
  /** The shortest and the longest pause from its first writes to a kill. */
  readonly killAfterMs: readonly [number, number];
  readonly tasks: number;
  /** Shortest and longest task. */
  readonly ms: readonly [number, number];
  /** Whether the directory that was killed in the making is made by the next process, which takes seconds, or put there whole. */
  readonly makesItself: boolean;
  /** A process on the directory of a killed one works within this. */
  readonly upWithinMs: number;
  /** After the last kill everything ends within this. */
  readonly doneWithinMs: number;
}

/**
 * The numbers of the full run; in `npm test` fewer of everything.
 * @param scale - 1 for the full run.
 */
export const pgliteScale = (scale: number): PgliteScale =>
  scale < 1
    ? {
        kills: 2,
        openEvery: 2,
        openers: 1,
        killAfterMs: [0, 40],
        tasks: 40,
        ms: [5, 30],
        makesItself: false,
        upWithinMs: 20_000,
        doneWithinMs: 30_000,
      }
    : {
        kills: 30,
        openEvery: 3,
        openers: 3,
        killAfterMs: [0, 600],
        tasks: 600,
        ms: [1, 20],
        makesItself: true,
        upWithinMs: 20_000,
        doneWithinMs: 30_000,
      };
