import type { Rng } from '@millrace/foundation';
import type { Plan, PlannedBatch } from '../outbox/plan.js';
import { ScriptWriter } from '../outbox/scripts.js';
import { drawDags, type PlannedDag } from '../outbox/shapes.js';
import type { PgliteScale } from './settings.js';

/**
 * Draws the batches of an embedded outbox: every join, policy and condition, some started together with an order.
 * @param scale - how many tasks, and how long they take.
 */
export function drawEmbeddedPlan(rng: Rng, { tasks, ms }: Pick<PgliteScale, 'tasks' | 'ms'>): Plan {
  const { others: dags } = drawDags(rng.fork('dags'));
  const writer = new ScriptWriter(rng.fork('scripts'), ms);
  const batches: PlannedBatch[] = [];
  let count = 0;
  for (let index = 0; count < tasks; index++) {
    const dag = dags[index % dags.length] as PlannedDag;
    const payload = { scripts: writer.write(dag, {}, undefined) };
    const push = index % 3 === 1 ? 'with-order' : 'alone';
    batches.push({ bizKey: `b${index}`, dag: dag.name, dueMs: 0, push, payload });
    count += dag.tasks.length;
  }
  return { dags, batches };
}
