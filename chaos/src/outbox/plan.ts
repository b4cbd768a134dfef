import type { Rng } from '@millrace/foundation';
import { type BatchPayload, type Deed, ScriptWriter, type Story } from './scripts.js';
import { drawDags, type PlannedDag, type PlannedTask } from './shapes.js';

/** One batch that is asked for. */
export interface PlannedBatch {
  readonly bizKey: string;
  readonly dag: string;
  /** So long after the beginning. */
  readonly dueMs: number;
  /** By itself, in a transaction with an order of the caller, or in one that is rolled back. */
  readonly push: 'alone' | 'with-order' | 'rolled-back';
  readonly payload: BatchPayload;
  /** What is done to it; nothing unless given. */
  readonly story?: Story;
}

/** Everything that is asked for. */
export interface Plan {
  readonly dags: readonly PlannedDag[];
  readonly batches: readonly PlannedBatch[];
}

/** How much of it. */
export interface PlanSize {
  /** At least so many tasks, batches that are rolled back not counted. */
  readonly tasks: number;
  /** Shortest and longest task. */
  readonly ms: readonly [number, number];
  /** Batches arrive for so long. */
  readonly arrivalMs: number;
}

/** One batch of so many is of a DAG with a wide join, beginning with the fourth. */
const WIDE_EVERY = 16;
const WIDE_FIRST = 3;
/** The first tasks of some batches in so many end their process, in each of the two ways. */
const EXIT_EVERY = 40;
const EXITS: ReadonlyMap<number, Deed> = new Map([
  [1, 'exits-within'],
  [2, 'exits-after'],
  [4, 'exits-within'],
  [6, 'exits-after'],
  [11, 'exits-within'],
  [12, 'exits-after'],
]);
/** Some batches in so many fail, are aborted, are retried. */
const STORY_EVERY = 11;

/** Draws the work of a scenario: always the same for the same seed and size. */
export function drawPlan(rng: Rng, { tasks, ms, arrivalMs }: PlanSize): Plan {
  const { wide, others } = drawDags(rng.fork('dags'));
  const writer = new ScriptWriter(rng, ms);
  const stories = rng.fork('stories');
  const turnOf = (dags: readonly PlannedDag[], at: number) => dags[at % dags.length] as PlannedDag;
  const batches: PlannedBatch[] = [];
  let count = 0;
  for (let index = 0; count < tasks; index++) {
    const isWide = index % WIDE_EVERY === WIDE_FIRST;
    const dag = isWide ? turnOf(wide, Math.floor(index / WIDE_EVERY)) : turnOf(others, index);
    const push = pushOf(index);
    const story = push === 'rolled-back' ? {} : storyOf(index, stories, ms);
    const scripts = writer.write(dag, story, EXITS.get(index % EXIT_EVERY));
    batches.push({ bizKey: `b${index}`, dag: dag.name, dueMs: 0, push, payload: { scripts }, story });
    if (push !== 'rolled-back') count += dag.tasks.length;
  }
  const gapMs = arrivalMs / batches.length;
  return {
    dags: [...wide, ...others],
    batches: batches.map((batch, at) => ({ ...batch, dueMs: Math.round(at * gapMs) })),
  };
}

/** How a task is called over all batches. */
export const taskName = (bizKey: string, key: string): string => `${bizKey}#${key}`;

/** The batches that must exist when all is over. */
export const wanted = ({ batches }: Plan): readonly PlannedBatch[] =>
  batches.filter(({ push }) => push !== 'rolled-back');

/** Those to which something is done after they were asked for. */
export const storied = (plan: Plan): readonly PlannedBatch[] =>
  wanted(plan).filter(({ story }) => story?.mends !== undefined || story?.abortAfterMs !== undefined);

/** The tasks of a batch, those that are added to it included. */
export const tasksOf = ({ dags }: Plan, { dag }: Pick<PlannedBatch, 'dag'>): readonly PlannedTask[] =>
  dags.find(({ name }) => name === dag)?.tasks ?? [];

/** By number, so that every size has each. */
function pushOf(index: number): PlannedBatch['push'] {
  if (index % 8 === 5) return 'rolled-back';
  return index % 5 === 2 ? 'with-order' : 'alone';
}

/** By number, too. An abort comes when some of the tasks have been done and some have not, mostly; the first ones for certain. */
function storyOf(index: number, rng: Rng, [, longest]: PlanSize['ms']): Story {
  const abortAfterMs = rng.integer(0, index < STORY_EVERY ? longest / 2 : 2 * longest);
  switch (index % STORY_EVERY) {
    case 0:
      return { fails: true, mends: 'failing' };
    case 7:
      return { abortAfterMs };
    case 8:
      return { fails: true };
    case 9:
      return { fails: true, mends: 'all' };
    case 10:
      return { abortAfterMs, mends: 'all' };
    default:
      return {};
  }
}
