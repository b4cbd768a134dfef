import { availableParallelism } from 'node:os';
import {
  durationOption,
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  textOption,
} from '@millrace/foundation';

/** The settings of a TaskManager, complete. */
export interface ResolvedTaskManagerConfig {
  /** For messages and logs. */
  readonly name: string;
  /** How many tasks run at once. */
  readonly maxWorkers: number;
  /** How many tasks may wait, for a worker or for their lane; 0 = any number. */
  readonly queueMaxSize: number;
  /** How many chunks of a stream are kept one by one; 0 = all. */
  readonly streamMaxChunks: number;
  /** How long an attached reader that does not read may hold the handler back. */
  readonly streamStallMs: number;
  /** How long the text of one task may get; 0 = any length. */
  readonly textCharactersMax: number;
  /** How long a task is kept after its end. */
  readonly resultTtlMs: number;
  /** How many ended tasks are kept. */
  readonly maxStored: number;
  /** How often expired tasks are removed; an expired task is never given out, removed or not. */
  readonly cleanupIntervalMs: number;
  /** How long `stop` lets running tasks finish before it cancels them. */
  readonly stopGraceMs: number;
  /** How long `stop` then waits for handlers to react to their signal before it leaves them behind. */
  readonly abortGraceMs: number;
}

/** The settings of a TaskManager as given; what is missing has a default. */
export type TaskManagerConfig = PartialOptions<ResolvedTaskManagerConfig>;

/**
 * How many tasks run at once unless told: mostly they wait for a network, so four for each processor.
 * @param cpus - how many processors there are.
 */
export const defaultMaxWorkers = (cpus: number): number => Math.max(4, cpus * 4);

/** Returns the number of processors that this process may use, which a container limits. */
export const cpuCount = (): number => availableParallelism();

/** The defaults of a TaskManager. */
export const TASK_MANAGER_DEFAULTS: ResolvedTaskManagerConfig = Object.freeze({
  name: 'tasks',
  maxWorkers: defaultMaxWorkers(cpuCount()),
  queueMaxSize: 1000,
  streamMaxChunks: 4096,
  streamStallMs: 5000,
  textCharactersMax: 4_000_000,
  resultTtlMs: 1_800_000,
  maxStored: 10_000,
  cleanupIntervalMs: 30_000,
  stopGraceMs: 10_000,
  abortGraceMs: 1000,
});

const SPEC: OptionSpec<ResolvedTaskManagerConfig> = {
  owner: 'TaskManager',
  defaults: TASK_MANAGER_DEFAULTS,
  rules: {
    name: textOption(),
    maxWorkers: integerOption({ min: 1 }),
    queueMaxSize: integerOption({ min: 0 }),
    streamMaxChunks: integerOption({ min: 0 }),
    streamStallMs: durationOption(),
    textCharactersMax: integerOption({ min: 0 }),
    resultTtlMs: durationOption(),
    maxStored: integerOption({ min: 0 }),
    cleanupIntervalMs: durationOption({ min: 1 }),
    stopGraceMs: durationOption(),
    abortGraceMs: durationOption(),
  },
};

/**
 * Completes the settings of a TaskManager and refuses what is wrong.
 * @returns the settings, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveTaskManagerConfig = (given?: TaskManagerConfig): ResolvedTaskManagerConfig =>
  resolveOptions(SPEC, given);
