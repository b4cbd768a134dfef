import type { Rng } from '@millrace/foundation';
import { accountNames } from './accounts.js';
import type { Plan, PlannedBatch, PlanSize } from './plan.js';
import { type BatchPayload, ScriptWriter, type Story, type TaskScript } from './scripts.js';
import { drawDags, type PlannedDag, type PlannedTask } from './shapes.js';

/** Two batches that are started in transactions side by side: the one with the lower id is committed last. */
export interface CrossedPair {
  readonly late: PlannedBatch;
  readonly early: PlannedBatch;
}

/** What is asked for, by whom. */
export interface ConflictPlan {
  /** By the processes that push. */
  readonly pushed: Plan;
  /** By whoever starts two at once, one pair after the other. */
  readonly pairs: readonly CrossedPair[];
}

/** How much of it. */
export interface ConflictSize extends PlanSize {
  readonly pairs: number;
  /** That tasks change two at a time. */
  readonly accounts: number;
  /** Tasks of a batch that measures how fast the processes are. */
  readonly probeTasks: number;
}

/** Of the transactional tasks. */
const CONTENDING_SHARE = 0.5;
const FAILING_EVERY = 7;
const PROBE = 'probe';
/** Few enough tasks that the slots are the limit and not the machine. */
const PROBE_MS = 100;
const PAIRED = 'chain';

/** Draws the work of the scenario: batches whose tasks change the same accounts in whatever order. */
export function drawConflictPlan(rng: Rng, size: ConflictSize): ConflictPlan {
  const { others: dags } = drawDags(rng.fork('dags'));
  const writer = new ScriptWriter(rng.fork('scripts'), size.ms);
  const contention = { rng: rng.fork('accounts'), names: accountNames(size.accounts) };
  const scriptsOf = (dag: PlannedDag, story: Story): BatchPayload => ({
    scripts: contending(dag, writer.write(dag, story, undefined), contention),
  });
  const batches: PlannedBatch[] = [];
  let count = 0;
  for (let index = 0; count < size.tasks; index++) {
    const dag = dags[index % dags.length] as PlannedDag;
    const push = pushOf(index);
    const story: Story = index % FAILING_EVERY === FAILING_EVERY - 1 ? { fails: true } : {};
    const payload = scriptsOf(dag, story);
    batches.push({ bizKey: `b${index}`, dag: dag.name, dueMs: 0, push, payload, story });
    if (push !== 'rolled-back') count += dag.tasks.length;
  }
  const gapMs = size.arrivalMs / batches.length;
  const paired = dags.find(({ name }) => name === PAIRED) as PlannedDag;
  const pairOf = (index: number): CrossedPair => {
    const [late, early] = ['late', 'early'].map((name) => ({
      bizKey: `${name}${index}`,
      dag: paired.name,
      dueMs: 0,
      push: 'alone' as const,
      payload: scriptsOf(paired, {}),
    })) as [PlannedBatch, PlannedBatch];
    return { late, early };
  };
  return {
    pushed: {
      dags: [...dags, { name: PROBE, tasks: probeTasks(size.probeTasks) }],
      batches: batches.map((batch, at) => ({ ...batch, dueMs: Math.round(at * gapMs) })),
    },
    pairs: Array.from({ length: size.pairs }, (_, index) => pairOf(index)),
  };
}

/** Easy work that nothing but the slots holds back. */
export function probeBatch(bizKey: string, { dags }: Plan): PlannedBatch {
  const tasks = dags.find(({ name }) => name === PROBE)?.tasks ?? [];
  const script: TaskScript = { does: 'works', ms: PROBE_MS, writes: 'last', heedless: false };
  const scripts = Object.fromEntries(tasks.map(({ key }) => [key, script]));
  return { bizKey, dag: PROBE, dueMs: 0, push: 'alone', payload: { scripts } };
}

/** Everything that was asked for, by anybody. */
export const wholePlan = ({ pushed, pairs }: ConflictPlan, probes: readonly PlannedBatch[]): Plan => ({
  ...pushed,
  batches: [...pushed.batches, ...pairs.flatMap(({ late, early }) => [late, early]), ...probes],
});

/** External: rows of theirs would make them wait for each other where transactions are SERIALIZABLE. */
const probeTasks = (count: number): PlannedTask[] =>
  Array.from({ length: count }, (_, index) => ({ key: `p${index}`, after: [], mode: 'external' }));

/** By number, so that every size has each. */
function pushOf(index: number): PlannedBatch['push'] {
  if (index % 8 === 5) return 'rolled-back';
  return index % 4 === 1 ? 'with-order' : 'alone';
}

/** Two accounts in an order of its own for some of the tasks that have a transaction. */
function contending(
  { tasks }: PlannedDag,
  scripts: Readonly<Record<string, TaskScript>>,
  { rng, names }: { readonly rng: Rng; readonly names: readonly string[] },
): Record<string, TaskScript> {
  const own = new Map(Object.entries(scripts));
  for (const { key, mode } of tasks) {
    const script = own.get(key);
    if (!script || mode !== 'transactional' || !rng.chance(CONTENDING_SHARE)) continue;
    own.set(key, { ...script, accounts: rng.shuffle(names).slice(0, 2) });
  }
  return Object.fromEntries(own);
}
