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
import { differences, expectedOutcome, isReached, type ModelTask, needOf } from './reference-model.js';

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
      new Outbox({ database, schema, dags: [dag], concurrency: CONCURRENCY, pollIntervalMs: 100, leaseMs: disturb ? 500 : 30_000, lostMax: 1_000 }),
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
    const status = await until(
      async () => {
        const { status } = await first.batches.get(id);
        return status !== 'RUNNING' && status;
      },
      { what: `the end of ${name}`, deadlineMs: 60_000, intervalMs: 10 },
    ).catch(() => 'still RUNNING');
    const items = (await first.batches.tasks(id, { limit: 1_000 })).items;
    const found = { status, tasks: new Map(items.map((one) => [one.key, one])) };
    const { rows: effects } = await database.query<{ task: string }>(
      'SELECT task FROM effect WHERE dag = $1',
      [name],
    );
    const wrong = [
      ...differences(expectedOutcome(tasks), found),
      ...wrongOrder(tasks, deeds),
      ...wrongEffects(tasks, found.tasks, { deeds, vain, effects: effects.map((row) => row.task) }),
    ];
    return wrong.length > 0 ? wrong : await invariants(database, schema, id);
  } finally {
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
  }
}

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

/** Every try is explained, and what a task wrote is there exactly once if it is done, and not at all if not. */
function wrongEffects(
  tasks: readonly ModelTask[],
  found: ReadonlyMap<string, TaskView>,
  {
    deeds,
    effects,
    vain,
  }: {
    readonly deeds: readonly Deed[];
    readonly effects: readonly string[];
    readonly vain: readonly string[];
  },
): string[] {
  const wrong: string[] = [];
  for (const { key, mode, fate } of tasks) {
    const { status, attempts, lost, error } = found.get(key) ?? {
      status: 'not there',
      attempts: -1,
      lost: 0,
    };
    // Nothing dies here, so whatever was lost was lost by statements of ours that were in each other's way.
    if (lost > 0) wrong.push(`${key} was lost ${lost} times (${error?.message})`);
    const rows = effects.filter((effect) => effect === key).length;
    // Tries that were given back because others were in the way do not count.
    const begun = deeds.filter((deed) => deed.key === key && deed.what === 'begins').length;
    const runs = begun - vain.filter((handler) => handler.endsWith(`.${key}`)).length;
    const isWritten = mode === 'transactional' && status === 'DONE';
    if (rows !== (isWritten ? 1 : 0)) wrong.push(`${key} (${mode}, ${status}) has ${rows} effects`);
    if (status === 'DONE' && fate.kind === 'done' && runs !== fate.failures + 1)
      wrong.push(`${key} ran ${runs} times`);
    const tries = fate.kind === 'fails' && fate.how === 'every-time' ? RETRIES + 1 : 1;
    if (status === 'FAILED' && runs !== tries)
      wrong.push(`${key} failed after ${runs} tries instead of ${tries}`);
    if ((status === 'DONE' || status === 'FAILED') && attempts !== runs)
      wrong.push(`${key} ran ${runs} times and was charged ${attempts} attempts`);
  }
  return wrong;
}
