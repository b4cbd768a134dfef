import { NonRetryableError } from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import {
  type DagDefinition,
  defineDag,
  type TaskContext,
  type TaskDefinition,
  task,
} from '../../src/define-dag.js';
import type { TaskView } from '../../src/model.js';
import { Outbox } from '../../src/outbox.js';
import { findViolations } from '../check-invariants.js';
import {
  differences,
  expectedOutcome,
  type Fate,
  isReached,
  type ModelTask,
  needOf,
} from './reference-model.js';

/** Where random DAGs run. */
export interface Ground {
  /** Each with its own poller. */
  readonly databases: readonly Database[];
  readonly schema: string;
  /** Breaks connections until the signal aborts: tasks may then be lost and run more often than they are charged for. */
  readonly disturb?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** Something that a task did, in the order it happened in this process. */
interface Deed {
  readonly key: string;
  /** `unwanted`: its condition was asked and is false. */
  readonly what: 'begins' | 'done' | 'fails' | 'unwanted';
  readonly inputs: Readonly<Record<string, unknown>>;
}

const RETRIES = 2;
const CONCURRENCY = 5;

let cases = 0;

/**
 * Runs a DAG to its end and compares what happened with the reference model.
 * @param ground - databases with the tables of an outbox and a table `effect (dag text, task text)`.
 * @param tasks - of the DAG.
 * @returns what is wrong.
 */
export async function runDag(
  { databases, schema, disturb }: Ground,
  tasks: readonly ModelTask[],
): Promise<string[]> {
  const name = `random${++cases}`;
  const deeds: Deed[] = [];
  const dag = toDag(name, tasks, deeds);
  const outboxes = databases.map(
    (database) =>
      new Outbox({
        database,
        schema,
        dags: [dag],
        concurrency: CONCURRENCY,
        pollIntervalMs: 100,
        leaseMs: disturb ? 500 : 30_000,
        lostMax: 1_000,
      }),
  );
  const vain: string[] = [];
  for (const { events } of outboxes)
    events.on('task', ({ handler, result }) => {
      if (result === 'returned' || result === 'lost') vain.push(handler);
    });
  const [first] = outboxes as [Outbox];
  const [database] = databases as [Database];
  try {
    await Promise.all(outboxes.map((outbox) => outbox.start()));
    const { id } = await first.pusher.start(name, 'only');
    const over = new AbortController();
    const disturbed = disturb?.(over.signal);
    const status = await endOf(first, id).finally(() => over.abort());
    await disturbed;
    const items = (await first.batches.tasks(id, { limit: 1_000 })).items;
    const found = { status, tasks: new Map(items.map((one) => [one.key, one])) };
    const { rows: effects } = await database.query<{ task: string }>(
      'SELECT task FROM effect WHERE dag = $1',
      [name],
    );
    const wrong = [
      ...differences(expectedOutcome(tasks), found),
      ...wrongOrder(tasks, deeds),
      ...wrongEffects(
        tasks,
        found.tasks,
        effects.map((row) => row.task),
      ),
      ...(disturb ? [] : wrongRuns(tasks, found.tasks, { deeds, vain })),
    ];
    return wrong.length > 0 ? wrong : await invariants(database, schema, id);
  } finally {
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
  }
}

const endOf = (outbox: Outbox, id: string): Promise<string> =>
  until(
    async () => {
      const { status } = await outbox.batches.get(id);
      return status !== 'RUNNING' && status;
    },
    { what: `the end of batch ${id}`, deadlineMs: 60_000, intervalMs: 10 },
  ).catch(() => 'still RUNNING');

/** Ticks of joins that had started anyway may be counted after the end of the batch. */
async function invariants(database: Database, schema: string, batch: string): Promise<string[]> {
  let wrong: string[] = [];
  const look = async () => {
    wrong = await findViolations(database, schema, { batch });
    return wrong.length === 0;
  };
  await until(look, { what: 'invariants', deadlineMs: 2_000 }).catch(() => {});
  return wrong;
}

function toDag(name: string, tasks: readonly ModelTask[], deeds: Deed[]): DagDefinition {
  return defineDag(
    name,
    tasks.map((model) => [model.key, toTask(name, model, deeds)] as const),
  );
}

function toTask(
  dag: string,
  { key, fate, after, join, mode, onFailure }: ModelTask,
  deeds: Deed[],
): TaskDefinition {
  const note = (what: Deed['what'], inputs: Deed['inputs']) => void deeds.push({ key, what, inputs });
  const settings = {
    after,
    join,
    onFailure,
    retry: { retries: RETRIES, jitter: 0 },
    backoffMs: 1,
    ...(fate.kind === 'unwanted' && {
      when: (inputs: Deed['inputs']) => {
        note('unwanted', inputs);
        return false;
      },
    }),
  };
  const decide = ({ attempt, inputs }: TaskContext) => {
    const isFailing = fate.kind === 'fails' || (fate.kind === 'done' && attempt <= fate.failures);
    if (!isFailing) {
      note('done', inputs);
      return { of: key, attempt };
    }
    note('fails', inputs);
    throw fate.kind === 'fails' && fate.how === 'at-once' ? new NonRetryableError(key) : new Error(key);
  };
  if (mode === 'external')
    return task({
      ...settings,
      mode,
      run: async (context) => {
        note('begins', context.inputs);
        await Promise.resolve();
        return decide(context);
      },
    });
  return task({
    ...settings,
    run: async (context) => {
      note('begins', context.inputs);
      await context.tx.query('INSERT INTO effect (dag, task) VALUES ($1, $2)', [dag, key]);
      return decide(context);
    },
  });
}

/** Whatever began had, at that moment, all it needs behind it, and was given just that. */
function wrongOrder(tasks: readonly ModelTask[], deeds: readonly Deed[]): string[] {
  const wrong: string[] = [];
  const byKey = new Map(tasks.map((one) => [one.key, one]));
  const { ends } = expectedOutcome(tasks);
  const succeeded = new Set<string>();
  const ended = new Set<string>();
  for (const { key, what, inputs } of deeds) {
    const model = byKey.get(key) as ModelTask;
    if (what === 'begins' || what === 'unwanted') {
      const isBehind = (parent: string) =>
        model.join === 'all-done'
          ? ended.has(parent) || ends.get(parent) === 'skipped by cascade'
          : succeeded.has(parent);
      const behind = model.after.filter(isBehind);
      if (behind.length < needOf(model)) wrong.push(`${key} began after ${behind.join()} only`);
      for (const [parent, input] of Object.entries(inputs)) {
        const { of, error } = input as { of?: string; error?: { message?: string } };
        if (!succeeded.has(parent)) wrong.push(`${key} was given ${parent} before its end`);
        if (of !== parent && error?.message !== parent)
          wrong.push(`${key} was given ${JSON.stringify(input)} as ${parent}`);
      }
      const all = model.after.filter((parent) =>
        isReached('all', byKey.get(parent) as ModelTask, ends.get(parent) ?? 'blocked'),
      );
      if ((model.join === 'all' || model.join === 'all-done') && Object.keys(inputs).length !== all.length)
        wrong.push(`${key} was given ${Object.keys(inputs).join()} instead of ${all.join()}`);
    }
    if (what === 'done') succeeded.add(key);
    // Before the last try of a failure its children cannot have begun either.
    if (what === 'fails' && model.fate.kind === 'fails' && model.onFailure === 'continue') succeeded.add(key);
    if (what !== 'begins') ended.add(key);
  }
  return wrong;
}

/** What a task wrote is there exactly once if it is done, and not at all if not; it is charged for its own failures and no more. */
function wrongEffects(
  tasks: readonly ModelTask[],
  found: ReadonlyMap<string, TaskView>,
  effects: readonly string[],
): string[] {
  const wrong: string[] = [];
  for (const { key, mode, fate } of tasks) {
    const { status, attempts } = found.get(key) ?? { status: 'not there', attempts: -1 };
    const rows = effects.filter((effect) => effect === key).length;
    const isWritten = mode === 'transactional' && status === 'DONE';
    if (rows !== (isWritten ? 1 : 0)) wrong.push(`${key} (${mode}, ${status}) has ${rows} effects`);
    const tries = triesOf(fate);
    if ((status === 'DONE' || status === 'FAILED') && attempts !== tries)
      wrong.push(`${key} (${status}) was charged ${attempts} attempts instead of ${tries}`);
  }
  return wrong;
}

function triesOf(fate: Fate): number {
  if (fate.kind === 'done') return fate.failures + 1;
  return fate.kind === 'fails' && fate.how === 'every-time' ? RETRIES + 1 : 1;
}

/** Where nothing dies, every run is explained, and no task is lost. */
function wrongRuns(
  tasks: readonly ModelTask[],
  found: ReadonlyMap<string, TaskView>,
  { deeds, vain }: { readonly deeds: readonly Deed[]; readonly vain: readonly string[] },
): string[] {
  const wrong: string[] = [];
  for (const { key } of tasks) {
    const { status, attempts, lost } = found.get(key) ?? { status: 'not there', attempts: -1, lost: 0 };
    const runs = deeds.filter((deed) => deed.key === key && deed.what === 'begins').length;
    // Given back because others were in the way.
    const returned = vain.filter((handler) => handler.endsWith(`.${key}`)).length;
    if (lost > 0) wrong.push(`${key} was lost ${lost} times`);
    if ((status === 'DONE' || status === 'FAILED') && runs !== attempts + returned)
      wrong.push(`${key} ran ${runs} times, for ${attempts} attempts and ${returned} returns`);
  }
  return wrong;
}
