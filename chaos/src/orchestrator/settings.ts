import type { PlanSize } from './plan.js';
import { STEPS } from './steps.js';

/** What one instance is told when it is started. */
export interface InstanceBrief {
  readonly url: string;
  readonly ledger: string;
  /** The file with the plan, which is too long for a command line. */
  readonly plan: string;
  /** Where a process that kills itself leaves a mark, so that it does so once. */
  readonly marks: string;
  /** Where each process says at which port it can be called, in a file named by its id. */
  readonly doors: string;
  readonly timing: InstanceTiming;
  /** When the first command is due, by the clock of the machine. */
  readonly beginsAt: number;
}

/** How patient instances are. */
interface InstanceTiming {
  readonly leaseMs: number;
  readonly reaperIntervalMs: number;
  readonly finalizerIntervalMs: number;
  readonly watchIntervalMs: number;
  readonly gracePeriodMs: number;
}

/** How much happens in a run. */
export interface OrchestratorScale {
  readonly instances: number;
  readonly timing: InstanceTiming;
  readonly size: PlanSize;
  /** Pauses between two faults of a kind. */
  readonly killEveryMs: number;
  readonly dismissEveryMs: number;
  readonly terminateEveryMs: number;
  readonly loseReplyEveryMs: number;
  readonly restartEveryMs: readonly [number, number];
  /** How long PostgreSQL stays away after a crash, at most. */
  readonly awayMaxMs: number;
  /** After the last fault everything ends within this. */
  readonly doneWithinMs: number;
  /** Whether every planned step, every repairer and every fault must have been seen; a short run has too little time for that. */
  readonly isWhole: boolean;
}

/** How long a call to PostgreSQL may take: less than PostgreSQL is sometimes away. */
export const CALL_TIMEOUT_MS = 1000;

/** Where operations are found below an instance. */
export const OPERATIONS_PATH = '/api/operations';

/** The first words of the names under which the processes are known to PostgreSQL. */
export const APPLICATION = 'chaos-orchestrator-';

/** How PostgreSQL knows a process; the connections of each have a colon and their use behind that. */
export const applicationOf = (pid: number): string => `${APPLICATION}${pid}`;

/** How operations know the process that owns them. */
export const ownerOf = (pid: number): string => `instance-${pid}`;

/**
 * The numbers of the issue in the full run; in `npm test` fewer of everything, with a lease two thirds as long.
 * @param scale - 1 for the full run.
 */
export const orchestratorScale = (scale: number): OrchestratorScale =>
  scale < 1
    ? {
        instances: 3,
        timing: {
          leaseMs: 1000,
          reaperIntervalMs: 250,
          finalizerIntervalMs: 200,
          watchIntervalMs: 200,
          gracePeriodMs: 400,
        },
        size: { commands: 66, ms: [20, 300], arrivalMs: 2600, stepsMax: 3 },
        killEveryMs: 1700,
        dismissEveryMs: 2200,
        terminateEveryMs: 500,
        loseReplyEveryMs: 150,
        restartEveryMs: [300, 600],
        awayMaxMs: 300,
        doneWithinMs: 30_000,
        isWhole: false,
      }
    : {
        instances: 4,
        timing: {
          leaseMs: 1500,
          reaperIntervalMs: 500,
          finalizerIntervalMs: 300,
          watchIntervalMs: 300,
          gracePeriodMs: 400,
        },
        size: { commands: 600, ms: [20, 500], arrivalMs: 60_000, stepsMax: STEPS.length },
        killEveryMs: 6000,
        dismissEveryMs: 8000,
        terminateEveryMs: 1000,
        loseReplyEveryMs: 300,
        restartEveryMs: [6000, 10_000],
        awayMaxMs: 2 * CALL_TIMEOUT_MS,
        doneWithinMs: 30_000,
        isWhole: true,
      };
