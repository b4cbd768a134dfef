import type { PlanSize } from './plan.js';

/** What one process of these scenarios is told when it is started. */
export interface OutboxBrief {
  readonly url: string;
  readonly ledger: string;
  /** The file with the plan, which is too long for a command line. */
  readonly plan: string;
  /** Where a process that ends itself leaves a mark, so that it does so once. */
  readonly marks: string;
  readonly leaseMs: number;
  /** When the first batch is due, by the clock of the machine. */
  readonly beginsAt: number;
  /** Whether every transaction of the process is SERIALIZABLE; READ COMMITTED unless given. */
  readonly strict?: boolean;
  /** Tasks that it runs at once; SLOTS unless given. */
  readonly slots?: number;
}

/** How much happens in a run. */
export interface OutboxScale {
  readonly pollers: number;
  readonly pushers: number;
  readonly leaseMs: number;
  readonly size: PlanSize;
  /** Pauses between two faults of a kind. */
  readonly killEveryMs: number;
  readonly terminateEveryMs: number;
  readonly loseReplyEveryMs: number;
  readonly restartEveryMs: readonly [number, number];
  /** In so many rounds of two restarts one process is frozen, and PostgreSQL once. */
  readonly roundsPerFreeze: number;
  /** How long PostgreSQL stays away after a crash, at most. */
  readonly awayMaxMs: number;
  /** After the last fault everything ends within this. */
  readonly doneWithinMs: number;
}

/** Tasks that one poller runs at once. */
export const SLOTS = 8;

/** How long a call to PostgreSQL may take: less than PostgreSQL is sometimes away. */
export const CALL_TIMEOUT_MS = 1000;

/** The first words of the names under which the processes are known to PostgreSQL. */
export const APPLICATION = 'chaos-outbox-';

/** How PostgreSQL knows a process; the connections of each have a colon and their use behind that. */
export const applicationOf = (pid: number): string => `${APPLICATION}${pid}`;

/**
 * The numbers of the issue in the full run; in `npm test` fewer of everything, with a lease a third as long.
 * @param scale - 1 for the full run.
 */
export const outboxScale = (scale: number): OutboxScale =>
  scale < 1
    ? {
        pollers: 4,
        pushers: 2,
        leaseMs: 1000,
        size: { tasks: 155, ms: [50, 300], arrivalMs: 5000 },
        killEveryMs: 800,
        terminateEveryMs: 300,
        loseReplyEveryMs: 200,
        restartEveryMs: [600, 1000],
        roundsPerFreeze: 1,
        awayMaxMs: 500,
        doneWithinMs: 30_000,
      }
    : {
        pollers: 8,
        pushers: 2,
        leaseMs: 3000,
        // A few are never added, because who was to add them is cancelled: 2,000 are there in any case.
        size: { tasks: 2040, ms: [50, 500], arrivalMs: 60_000 },
        killEveryMs: 1000,
        terminateEveryMs: 700,
        loseReplyEveryMs: 300,
        restartEveryMs: [1500, 4000],
        roundsPerFreeze: 2,
        awayMaxMs: 2 * CALL_TIMEOUT_MS,
        doneWithinMs: 30_000,
      };
