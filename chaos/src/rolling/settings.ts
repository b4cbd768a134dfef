import type { BulkActionConfig } from '@millrace/bulk-action';
import { bulkConfig } from '../bulk/settings.js';
import type { Release } from './release.js';

/** How much of everything a run has. */
export interface RollingScale {
  readonly places: number;
  /** Old → new is one replacement of a place; there and back and there again are three. */
  readonly replacements: number;
  /** From one replacement to the next, at least: both releases work at once. */
  readonly togetherMs: number;
  readonly groupEveryMs: number;
  readonly jobsPerGroup: readonly [number, number];
  readonly leaseMs: number;
  readonly doneWithinMs: number;
}

/**
 * Half of the places are of the new release for most of the time; in `npm test` two places, each replaced once.
 * @param scale - 1 for the full run.
 */
export const rollingScale = (scale: number): RollingScale =>
  scale < 1
    ? {
        places: 2,
        replacements: 1,
        togetherMs: 400,
        groupEveryMs: 60,
        jobsPerGroup: [8, 16],
        leaseMs: 1000,
        doneWithinMs: 40_000,
      }
    : {
        places: 4,
        replacements: 3,
        togetherMs: 5000,
        groupEveryMs: 100,
        jobsPerGroup: [20, 60],
        leaseMs: 2000,
        doneWithinMs: 40_000,
      };

/** What one worker process is told when it is started. */
export interface RollingBrief {
  readonly release: Release;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly ledger: string;
  readonly config: BulkActionConfig;
  readonly leaseMs: number;
}

/** Jobs and tasks that one worker process runs at once. */
export const ROLLING_SLOTS = 6;

/** What every job is run by. */
export const ROLLING_PROCESSOR = 'rolling';

/** What tasks write through their transactions. */
export const EFFECTS = `
  CREATE TABLE effect (biz_key text NOT NULL, task_key text NOT NULL, release text NOT NULL)`;

/**
 * The settings of the engine in all processes.
 * @param scale - 1 for the full run.
 */
export const rollingConfig = (scale: number): BulkActionConfig => bulkConfig(scale, ROLLING_SLOTS);
