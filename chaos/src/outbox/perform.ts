import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import { NonRetryableError } from '@millrace/foundation';
import type { AddedTask, TaskContext, TransactionalContext } from '@millrace/outbox';
import { isSqlError } from '@millrace/postgres';
import type { Ledger } from '@millrace/testkit/ledger';
import { changeAccounts } from './accounts.js';
import { taskName } from './plan.js';
import type { BatchPayload, TaskScript } from './scripts.js';
import { type PlannedDag, type PlannedTask, ROOT } from './shapes.js';
import { INSERT_EFFECT } from './tables.js';

/** What a task leaves behind as its result. */
export interface TaskResult {
  /** The run that was accepted. */
  readonly run: string;
  /** The row of that run, where it has one. */
  readonly seq?: string;
  /** Tasks after it that are not wanted. */
  readonly unwanted?: readonly string[];
}

type Context = TaskContext<BatchPayload, Readonly<Record<string, TaskResult>>>;
type TxContext = TransactionalContext<BatchPayload, Readonly<Record<string, TaskResult>>>;

/** A process that ends after its task has returned does so within this: before, while or after that is recorded. */
const EXIT_WITHIN_MS = 5;

/** The mark after which no process ends itself any more. */
export const FAULTS_OVER = 'faults-over';

/** The mark that what makes tasks of a batch fail has been repaired. */
export const mendedMark = (bizKey: string): string => `mended-${bizKey}`;

/**
 * The condition of a task: nothing before it says that it is not wanted.
 * @param inputs - results of what it depends on; `{ error }` of what failed.
 */
export const isWanted = (key: string, inputs: Readonly<Record<string, unknown>>): boolean =>
  Object.values(inputs as Record<string, Partial<TaskResult>>).every(
    ({ unwanted = [] }) => !unwanted.includes(key),
  );

/** Runs the tasks of a plan in one process: each run writes the ledger before and after what it does. */
export class Performer {
  readonly #ledger: Ledger;
  readonly #marks: string;
  #runs = 0;

  constructor(ledger: Ledger, marks: string) {
    this.#ledger = ledger;
    this.#marks = marks;
  }

  /** A task whose effect is a row written through its transaction. */
  async transactional(dag: PlannedDag, context: TxContext): Promise<TaskResult> {
    const { tx, batch, taskKey, inputs, payload } = context;
    return this.#run(dag, context, async (run) => {
      await changeAccounts(tx, payload.scripts[taskKey]?.accounts ?? []);
      const row = [batch.bizKey, taskKey, run, inputs];
      const { rows } = await tx.query<{ seq: string }>(INSERT_EFFECT, row);
      return { run, seq: String(rows[0]?.seq) };
    });
  }

  /** A task whose effect is elsewhere: in the ledger. */
  async external(dag: PlannedDag, context: Context): Promise<TaskResult> {
    return this.#run(dag, context, async (run) => ({ run }));
  }

  async #run(
    dag: PlannedDag,
    context: Context,
    effect: (run: string) => Promise<TaskResult>,
  ): Promise<TaskResult> {
    const { payload, batch, taskKey, attempt, inputs } = context;
    const script = payload.scripts[taskKey];
    const name = taskName(batch.bizKey, taskKey);
    if (!script) throw new Error(`nobody planned ${name}`);
    const run = `${process.pid}-${++this.#runs}`;
    this.#ledger.append({ kind: 'began', task: name, run, attempt, inputs });
    try {
      const early = script.writes === 'first' ? await effect(run) : undefined;
      await this.#work(script, context);
      const result = early ?? (await effect(run));
      this.#mayExit(script, name);
      this.#mayFail(script, batch.bizKey, attempt);
      context.addTasks(addedBy(dag, taskKey, payload));
      this.#ledger.append({ kind: 'ended', task: name, run, how: 'done' });
      return { ...result, ...unwantedAfter(dag, taskKey, payload) };
    } catch (error) {
      this.#ledger.append({
        kind: 'ended',
        task: name,
        run,
        how: 'failed',
        error: String(error).slice(0, 300),
        sqlState: isSqlError(error) ? error.code : undefined,
      });
      throw error;
    }
  }

  async #work({ ms, heedless }: TaskScript, { signal }: Context): Promise<void> {
    await wait(ms, heedless ? {} : { signal });
  }

  #mayFail({ does, curable }: TaskScript, bizKey: string, attempt: number): void {
    if (does === 'fails-first' && attempt === 1) throw new Error('the first try fails');
    if (does !== 'fails-at-once' && does !== 'fails-always') return;
    if (curable && existsSync(join(this.#marks, mendedMark(bizKey)))) return;
    throw does === 'fails-always' ? new Error('every try fails') : new NonRetryableError('it never works');
  }

  #mayExit({ does, ms }: TaskScript, name: string): void {
    if (does !== 'exits-within' && does !== 'exits-after') return;
    if (existsSync(join(this.#marks, FAULTS_OVER)) || !this.#isFirst(name)) return;
    this.#ledger.append({ kind: 'exits', task: name, does });
    if (does === 'exits-within') process.exit(1);
    setTimeout(() => process.exit(1), ms % EXIT_WITHIN_MS);
  }

  /** Whether nobody has ended a process for this task before. */
  #isFirst(name: string): boolean {
    try {
      writeFileSync(join(this.#marks, encodeURIComponent(name)), '', { flag: 'wx' });
      return true;
    } catch {
      return false;
    }
  }
}

/** What the result of a task says of those after it. */
function unwantedAfter(
  { tasks }: PlannedDag,
  key: string,
  { scripts }: BatchPayload,
): Pick<TaskResult, 'unwanted'> {
  const unwanted = tasks.filter((task) => task.after.includes(key) && scripts[task.key]?.unwanted);
  return unwanted.length > 0 ? { unwanted: unwanted.map((task) => task.key) } : {};
}

/** The tasks that this one adds, each with its own part of the batch's payload. */
function addedBy({ name, tasks }: PlannedDag, key: string, { scripts }: BatchPayload): AddedTask[] {
  const waits = ({ after }: PlannedTask, other: string) => after.includes(other);
  return tasks
    .filter((task) => task.addedBy === key)
    .map((added) => ({
      key: added.key,
      handler: `${name}.${ROOT}`,
      payload: { scripts: { [added.key]: scripts[added.key] } },
      before: tasks.filter((task) => waits(task, added.key)).map((task) => task.key),
    }));
}
