import type { Rng } from '@millrace/foundation';
import { drawDags, type PlannedDag, ROOT } from './shapes.js';

/**
 * What a task does when it is run. `fails-first`: its first try, after its effect. `exits-within`: ends its process once,
 * between its effect and its end. `exits-after`: ends its process once, when it has returned and is being recorded.
 */
type Deed = 'works' | 'fails-first' | 'exits-within' | 'exits-after';

/** What one task of one batch does. */
export interface TaskScript {
  readonly does: Deed;
  readonly ms: number;
  /** Whether its row is inserted before the work or after. */
  readonly writes: 'first' | 'last';
  /** Whether it goes on when it is told to stop. */
  readonly heedless: boolean;
}

/** The payload of a batch, and of a task that was added to one. */
export interface BatchPayload {
  readonly scripts: Readonly<Record<string, TaskScript>>;
}

/** One batch that is asked for. */
export interface PlannedBatch {
  readonly bizKey: string;
  readonly dag: string;
  /** So long after the beginning. */
  readonly dueMs: number;
  /** By itself, in a transaction with an order of the caller, or in one that is rolled back. */
  readonly push: 'alone' | 'with-order' | 'rolled-back';
  readonly payload: BatchPayload;
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

/** One batch of so many is of the DAG with the wide join, beginning with the fourth. */
const WIDE_EVERY = 16;
const WIDE_FIRST = 3;
/** The first tasks of some batches in so many end their process, in each of the two ways. */
const EXIT_EVERY = 40;
const EXITS: ReadonlyMap<number, Deed> = new Map([
  [1, 'exits-within'],
  [4, 'exits-after'],
  [7, 'exits-within'],
  [10, 'exits-after'],
]);

/**
 * Draws the work of a scenario: always the same for the same seed and size.
 * @param rng - where it is drawn.
 * @param size - how much.
 */
export function drawPlan(rng: Rng, { tasks, ms, arrivalMs }: PlanSize): Plan {
  const dags = drawDags(rng.fork('dags'));
  const [wide, ...others] = dags;
  if (!wide) throw new Error('there is no DAG');
  const batches: PlannedBatch[] = [];
  let count = 0;
  for (let index = 0; count < tasks; index++) {
    const dag = index % WIDE_EVERY === WIDE_FIRST ? wide : (others[index % others.length] ?? wide);
    const push = pushOf(index);
    const exits = EXITS.get(index % EXIT_EVERY);
    const scripts = dag.tasks.map(({ key }): [string, TaskScript] => {
      const script = drawScript(rng, ms);
      return [key, key === ROOT && exits ? { ...script, does: exits, writes: 'first' } : script];
    });
    const payload = { scripts: Object.fromEntries(scripts) };
    batches.push({ bizKey: `b${index}`, dag: dag.name, dueMs: 0, push, payload });
    if (push !== 'rolled-back') count += dag.tasks.length;
  }
  const gapMs = arrivalMs / batches.length;
  return { dags, batches: batches.map((batch, at) => ({ ...batch, dueMs: Math.round(at * gapMs) })) };
}

/** How a task is called over all batches. */
export const taskName = (bizKey: string, key: string): string => `${bizKey}#${key}`;

/** The batches that must exist when all is over. */
export const wanted = ({ batches }: Plan): readonly PlannedBatch[] =>
  batches.filter(({ push }) => push !== 'rolled-back');

/** By number, so that every size has each. */
function pushOf(index: number): PlannedBatch['push'] {
  if (index % 8 === 5) return 'rolled-back';
  return index % 5 === 2 ? 'with-order' : 'alone';
}

function drawScript(rng: Rng, ms: PlanSize['ms']): TaskScript {
  return {
    does: rng.chance(0.04) ? 'fails-first' : 'works',
    ms: rng.integer(...ms),
    writes: rng.chance(0.5) ? 'first' : 'last',
    heedless: rng.chance(0.5),
  };
}
