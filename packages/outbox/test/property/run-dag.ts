import { NonRetryableError } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import {
  type AddedTask,
  defineDag,
  type TaskContext,
  type TaskDefinition,
  task,
} from '../../src/define-dag.js';
import type { TaskView } from '../../src/model.js';
import { Outbox } from '../../src/outbox.js';
import { findViolations } from '../check-invariants.js';
import { type Deed, wrongEffects, wrongOrder, wrongRuns } from './check-run.js';
import type { Retry, Story } from './random-dag.js';
import {
  differences,
  expectedOutcome,
  type FoundBatch,
  type ModelOutcome,
  type ModelStart,
  type ModelTask,
  NEW,
  startAgain,
} from './reference-model.js';

/** Where random DAGs run. */
export interface Ground {
  /** Each with its own poller. */
  readonly databases: readonly Database[];
  readonly schema: string;
  /** Breaks connections until the signal aborts: tasks may then be lost and run more often than they are charged for. */
  readonly disturb?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

const RETRIES = 2;
const CONCURRENCY = 5;
const UNDISTURBED: Story = { abortAfter: undefined, retries: [] };

let cases = 0;

/**
 * Runs a DAG to its end, and again as its story says, and compares what happened each time with the reference model.
 * @param ground - databases with the tables of an outbox and a table `effect (dag text, task text)`.
 * @param story - what is done to the batch; it only runs unless given.
 * @returns what is wrong.
 */
export async function runDag(
  ground: Ground,
  tasks: readonly ModelTask[],
  story: Story = UNDISTURBED,
): Promise<string[]> {
  const name = `random${++cases}`;
  const telling = new Telling(ground, name, tasks);
  try {
    await telling.begin();
    let wrong = await telling.run(story.abortAfter);
    for (const retry of story.retries) {
      if (wrong.length > 0) break;
      wrong = await telling.again(retry);
    }
    return wrong;
  } finally {
    await telling.end();
  }
}

/** One batch and what becomes of it. */
class Telling {
  readonly #ground: Ground;
  readonly #name: string;
  readonly #outboxes: readonly Outbox[];
  readonly #first: Outbox;
  readonly #database: Database;
  #tasks: readonly ModelTask[];
  #start: ModelStart = NEW;
  #expected: ModelOutcome;
  #found: FoundBatch<TaskView> = { status: 'RUNNING', tasks: new Map() };
  #stragglers: ReadonlySet<string> = new Set();
  #deeds: Deed[] = [];
  #vain: string[] = [];
  #batch = '';
  #runs = 0;

  constructor(ground: Ground, name: string, tasks: readonly ModelTask[]) {
    this.#ground = ground;
    this.#name = name;
    this.#tasks = tasks;
    this.#expected = expectedOutcome(tasks);
    const { databases, schema, disturb } = ground;
    const added = tasks.filter(({ addedBy }) => addedBy !== undefined);
    const define = (dag: string, all: readonly ModelTask[]) =>
      defineDag(
        dag,
        all.map((model) => [model.key, this.#define(model)] as const),
      );
    const dags = [
      define(
        name,
        tasks.filter(({ addedBy }) => addedBy === undefined),
      ),
      // Handlers of added tasks are those of any DAG.
      ...(added.length > 0
        ? [
            define(
              `${name}+`,
              added.map((model) => ({ ...model, after: [] })),
            ),
          ]
        : []),
    ];
    this.#outboxes = databases.map(
      (database) =>
        new Outbox({
          database,
          schema,
          dags,
          concurrency: CONCURRENCY,
          // For tries that come soon after a failure; four pollers would only be in each other's way.
          pollIntervalMs: databases.length > 1 ? 30 : 10,
          leaseMs: disturb ? 500 : 30_000,
          lostMax: 1_000,
        }),
    );
    for (const { events } of this.#outboxes)
      events.on('task', ({ handler, result }) => {
        if (result === 'returned' || result === 'lost') this.#vain.push(handler);
      });
    [this.#first] = this.#outboxes as [Outbox];
    [this.#database] = databases as [Database];
  }

  async begin(): Promise<void> {
    await Promise.all(this.#outboxes.map((outbox) => outbox.start()));
    this.#batch = (await this.#first.pusher.start(this.#name, 'only')).id;
  }

  async end(): Promise<void> {
    await Promise.all(this.#outboxes.map((outbox) => outbox.stop()));
  }

  /** Lets the batch run to its end, or until it is aborted, and compares. */
  async run(abortAfter: number | undefined): Promise<string[]> {
    const { disturb, schema } = this.#ground;
    const over = new AbortController();
    const disturbed = disturb?.(over.signal);
    const status = await this.#ended(abortAfter).finally(() => over.abort());
    await disturbed;
    const { items } = await this.#first.batches.tasks(this.#batch, { limit: 1_000 });
    this.#found = { status, tasks: new Map(items.map((one) => [one.key, one])) };
    const { rows } = await this.#database.query<{ task: string }>('SELECT task FROM effect WHERE dag = $1', [
      this.#name,
    ]);
    const run = {
      tasks: this.#tasks,
      start: this.#start,
      expected: this.#expected,
      found: this.#found.tasks,
      deeds: this.#deeds,
      vain: this.#vain,
      stragglers: this.#stragglers,
      effects: rows.map((row) => row.task),
      retries: RETRIES,
    };
    const wrong = [
      ...differences(this.#tasks, this.#expected, this.#found),
      ...wrongOrder(run),
      ...wrongEffects(run),
      ...(disturb ? [] : wrongRuns(run)),
    ];
    const which = `run ${++this.#runs} (${status}): `;
    if (wrong.length > 0) return wrong.map((text) => which + text);
    const broken = await invariants(this.#database, schema, { batch: this.#batch, retried: this.#runs > 1 });
    return broken.map((text) => which + text);
  }

  /** Runs again what can, and compares. */
  async again({ only: pick, mends, abortAfter }: Retry): Promise<string[]> {
    const failed = [...this.#found.tasks.values()].filter(({ status }) => status === 'FAILED');
    const only = pick === undefined ? undefined : failed[pick % Math.max(1, failed.length)]?.key;
    const before = this.#found;
    this.#tasks = this.#tasks.map((model, index) =>
      model.fate.kind === 'fails' && mends[index % mends.length]
        ? { ...model, fate: { kind: 'done', failures: 0 } }
        : model,
    );
    this.#start = startAgain(this.#tasks, before, this.#expected.parents, only);
    this.#expected = expectedOutcome(this.#tasks, this.#start);
    const isCut = ({ status, attempts }: TaskView) => status === 'CANCELLED' && attempts > 0;
    this.#stragglers = new Set([...before.tasks.values()].filter(isCut).map(({ key }) => key));
    this.#deeds = [];
    this.#vain = [];
    const { batches } = this.#first;
    const { status } = await (only === undefined
      ? batches.retry(this.#batch)
      : batches.retryTask(this.#batch, only));
    if (status === 'RUNNING') return this.run(abortAfter);
    // Nothing could run again: all is as it was.
    const { ends } = this.#expected;
    const wrong = differences(this.#tasks, { ...this.#expected, status: before.status as 'DONE' }, before);
    return [...wrong, ...(status === before.status ? [] : [`nothing ran again, but it is ${status}`])].map(
      (text) => `${text} (${ends.size} tasks)`,
    );
  }

  async #ended(abortAfter: number | undefined): Promise<string> {
    const { batches } = this.#first;
    let isAborted = false;
    return until(
      async () => {
        if (abortAfter !== undefined && !isAborted && this.#deeds.length >= abortAfter) {
          isAborted = true;
          await batches.abort(this.#batch);
        }
        const { status } = await batches.get(this.#batch);
        return status !== 'RUNNING' && status;
      },
      { what: `the end of batch ${this.#batch}`, deadlineMs: 60_000, intervalMs: 5 },
    ).catch(() => 'still RUNNING');
  }

  #define({ key, fate: first, after, join, mode, onFailure }: ModelTask): TaskDefinition {
    const note = (what: Deed['what'], inputs: Deed['inputs']) => void this.#deeds.push({ key, what, inputs });
    const settings = {
      after,
      join,
      onFailure,
      retry: { retries: RETRIES, jitter: 0 },
      backoffMs: 1,
      ...(first.kind === 'unwanted' && {
        when: (inputs: Deed['inputs']) => {
          note('unwanted', inputs);
          return false;
        },
      }),
    };
    if (mode === 'external')
      return task({
        ...settings,
        mode,
        run: async (context) => {
          note('begins', context.inputs);
          await Promise.resolve();
          return this.#decide(key, context, note);
        },
      });
    return task({
      ...settings,
      run: async (context) => {
        note('begins', context.inputs);
        await context.tx.query('INSERT INTO effect (dag, task) VALUES ($1, $2)', [this.#name, key]);
        return this.#decide(key, context, note);
      },
    });
  }

  #decide(
    key: string,
    { attempt, inputs, addTasks }: TaskContext,
    note: (what: Deed['what'], inputs: Deed['inputs']) => void,
  ): unknown {
    const { fate } = this.#tasks.find((one) => one.key === key) as ModelTask;
    const added = this.#addedBy(key);
    // A try that fails adds nothing, whatever it has said.
    if (added.length > 0) addTasks(added);
    if (fate.kind === 'fails' || (fate.kind === 'done' && attempt <= fate.failures)) {
      note('fails', inputs);
      throw fate.kind === 'fails' && fate.how === 'at-once' ? new NonRetryableError(key) : new Error(key);
    }
    note('done', inputs);
    return { of: key, attempt };
  }

  #addedBy(adder: string): AddedTask[] {
    const { parents } = this.#expected;
    return this.#tasks
      .filter(({ addedBy }) => addedBy === adder)
      .map(({ key, before = [] }) => ({
        key,
        handler: `${this.#name}+.${key}`,
        before: before.filter((one) => parents.get(one)?.includes(key)),
      }));
  }
}

/** Ticks of joins that had started anyway may be counted after the end of the batch. */
async function invariants(
  database: Database,
  schema: string,
  options: { readonly batch: string; readonly retried: boolean },
): Promise<string[]> {
  let wrong: string[] = [];
  const look = async () => {
    wrong = await findViolations(database, schema, options);
    return wrong.length === 0;
  };
  await until(look, { what: 'invariants', deadlineMs: 2_000 }).catch(() => {});
  return wrong;
}
