import { ERRORS } from '../errors.js';
import { cpuCount, defaultMaxWorkers, TASK_MANAGER_DEFAULTS, type TaskManagerConfig } from './options.js';

/** The part of a TaskManager's settings that the environment decides. */
export type TaskManagerEnvironment = Required<
  Pick<
    TaskManagerConfig,
    'maxWorkers' | 'queueMaxSize' | 'streamMaxChunks' | 'resultTtlMs' | 'maxStored' | 'cleanupIntervalMs'
  >
>;

interface Variable {
  readonly variable: string;
  readonly option: keyof TaskManagerEnvironment;
  /** The least value; for the environment only: code that sets an option may have a reason to go lower. */
  readonly floor: number;
  /** How many of the option's units one of the variable's is. */
  readonly unit: number;
}

const VARIABLES: readonly Variable[] = [
  { variable: 'CHAT_TASK_MAX_WORKERS', option: 'maxWorkers', floor: 1, unit: 1 },
  { variable: 'CHAT_TASK_QUEUE_MAX_SIZE', option: 'queueMaxSize', floor: 0, unit: 1 },
  { variable: 'CHAT_TASK_STREAM_MAX_CHUNKS', option: 'streamMaxChunks', floor: 0, unit: 1 },
  { variable: 'CHAT_TASK_RESULT_TTL_SECONDS', option: 'resultTtlMs', floor: 60, unit: 1000 },
  { variable: 'CHAT_TASK_MAX_STORED', option: 'maxStored', floor: 100, unit: 1 },
  { variable: 'CHAT_TASK_CLEANUP_INTERVAL_SECONDS', option: 'cleanupIntervalMs', floor: 5, unit: 1000 },
];

/**
 * Reads the six `CHAT_TASK_*` variables.
 * @param env - such as `process.env`; a variable that is not there has its default.
 * @param cpus - how many processors there are; asked of the system unless given.
 * @returns settings for a TaskManager.
 * @throws MillraceError `ENVIRONMENT_INVALID` for a value that is no integer or below its floor, with its variable.
 */
export function taskManagerConfigFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  cpus: number = cpuCount(),
): TaskManagerEnvironment {
  const defaults = { ...TASK_MANAGER_DEFAULTS, maxWorkers: defaultMaxWorkers(cpus) };
  const entries = VARIABLES.map(({ variable, option, floor, unit }) => {
    const given = env[variable];
    return [option, given === undefined ? defaults[option] : integerFrom(variable, given, floor) * unit];
  });
  return Object.freeze(Object.fromEntries(entries)) as TaskManagerEnvironment;
}

function integerFrom(variable: string, given: string, floor: number): number {
  const text = given.trim();
  // Number() alone would take '', '0x10' and '1e3'.
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= floor) return value;
  throw ERRORS.create('ENVIRONMENT_INVALID', { variable, expected: `an integer ≥ ${floor}`, given });
}
