import {
  anyOption,
  type BackoffStrategy,
  functionOption,
  integerOption,
  numberOption,
  type OptionRule,
  type OptionSpec,
  oneOfOption,
  resolveOptions,
  sectionOption,
} from '@millrace/foundation';
import type { TaskContext, TaskDefinition, TransactionalContext } from '../define-dag.js';
import type { FailurePolicy, JoinRule, TaskMode } from '../model.js';

/** The handler of a task of either mode, with any types of payload and inputs. */
export type TaskRun =
  | ((context: TransactionalContext<never, never>) => unknown)
  | ((context: TaskContext<never, never>) => unknown);

/** The condition of a task, by the results of its parents. */
type TaskCondition = (inputs: never) => boolean | Promise<boolean>;

/** A task as the user wrote it, with every default filled in. */
export interface TaskSettings {
  readonly after: readonly string[];
  readonly join: JoinRule;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  readonly when?: TaskCondition | undefined;
  readonly run?: TaskRun | undefined;
  readonly timeoutMs: number;
  readonly retry: {
    readonly retries: number;
    readonly backoff: BackoffStrategy;
    readonly jitter: number;
  };
  readonly backoffMs: number;
}

/** The defaults of a task. */
export const TASK_DEFAULTS = Object.freeze({
  after: Object.freeze([]),
  join: 'all',
  mode: 'transactional',
  onFailure: 'fail',
  timeoutMs: 30_000,
  // Tasks that failed together in an outage return over a fifth of the delay, not all at once.
  retry: Object.freeze({ retries: 4, backoff: 'exponential', jitter: 0.2 }),
  backoffMs: 1_000,
} as const satisfies Partial<TaskSettings>);

const DAY_MS = 86_400_000;

const keysRule: OptionRule = {
  expected: 'a list of task keys',
  accepts: (value) => Array.isArray(value) && value.every((key) => typeof key === 'string'),
};

const atLeastRule: OptionRule = {
  expected: '{ atLeast: a number }',
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).join() === 'atLeast' &&
    Number.isSafeInteger((value as { atLeast: unknown }).atLeast),
};

const RULES: OptionSpec<TaskSettings>['rules'] = {
  after: keysRule,
  join: anyOption(oneOfOption('all', 'any', 'all-done'), atLeastRule),
  mode: oneOfOption('transactional', 'external'),
  onFailure: oneOfOption('fail', 'skip', 'continue'),
  when: functionOption(),
  run: functionOption(),
  timeoutMs: integerOption({ min: 1, max: DAY_MS }),
  retry: sectionOption<TaskSettings['retry']>({
    retries: integerOption({ min: 0, max: 100 }),
    backoff: anyOption(oneOfOption('exponential', 'linear'), functionOption()),
    jitter: numberOption({ min: 0, max: 1 }),
  }),
  backoffMs: integerOption({ min: 0, max: DAY_MS }),
};

/**
 * Validates the settings of one task and fills in the defaults. It does not check its parents.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const taskSettings = (owner: string, given: TaskDefinition): TaskSettings =>
  plainSettings(given) ?? resolvedSettings(owner, given);

/**
 * Does the same for any task, slowly and with error messages.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolvedSettings = (owner: string, given: TaskDefinition): TaskSettings =>
  resolveOptions<TaskSettings>({ owner, defaults: TASK_DEFAULTS, rules: RULES }, given as object);

/**
 * Does the same for a task without mistakes and with the default retries, as nearly all are. With 100,000 of them
 * resolveOptions takes most of the time.
 */
function plainSettings(given: TaskDefinition): TaskSettings | undefined {
  const settings: Record<string, unknown> = { ...TASK_DEFAULTS };
  if (Array.isArray(given)) return undefined;
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(RULES, key)) return undefined;
    const value = given[key as keyof TaskDefinition];
    if (value === undefined) continue;
    const rule = RULES[key as keyof TaskSettings];
    if (rule.inside || !rule.accepts(value)) return undefined;
    settings[key] = value;
  }
  return settings as unknown as TaskSettings;
}
