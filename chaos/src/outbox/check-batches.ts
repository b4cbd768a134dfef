import type { Verdict } from '../registry.js';
import { some } from '../some.js';
import type { Evidence } from './evidence.js';
import { type PlannedBatch, taskName, wanted } from './plan.js';

/**
 * I1: what was acknowledged exists once, under the id that callers were told, and is DONE with all its tasks; what a
 * caller rolled back does not exist.
 * @param evidence - store and ledger.
 */
export function checkNoLoss({ plan, testimony, batches, tasks, orders }: Evidence): Verdict {
  const wrong: string[] = [];
  const dags = new Map(plan.dags.map((dag) => [dag.name, dag.tasks]));
  for (const batch of wanted(plan)) {
    const { bizKey } = batch;
    const stored = batches.filter((other) => other.bizKey === bizKey);
    const told = testimony.acknowledged.filter((answer) => answer.bizKey === bizKey);
    const ordered = orders.filter((key) => key === bizKey).length;
    const makers = told.filter(({ created }) => created).length;
    if (told.length === 0) wrong.push(`${bizKey} was never acknowledged`);
    if (makers > 1) wrong.push(`${bizKey}: ${makers} callers were told that they created it`);
    if (stored.length !== 1) wrong.push(`${bizKey} is there ${stored.length} times`);
    if (told.some(({ id }) => id !== stored[0]?.id))
      wrong.push(`${bizKey}: not the id that callers were told`);
    if (stored.some(({ status }) => status !== 'DONE')) wrong.push(`${bizKey} is ${stored[0]?.status}`);
    if (ordered !== (batch.push === 'with-order' ? 1 : 0)) wrong.push(`${bizKey} has ${ordered} orders`);
    for (const { key } of dags.get(batch.dag) ?? []) {
      const task = tasks.get(taskName(bizKey, key));
      const why = task?.error ? ` (${JSON.stringify(task.error)})` : '';
      if (task?.status !== 'DONE') wrong.push(`${bizKey}#${key} is ${task?.status ?? 'not there'}${why}`);
    }
  }
  wrong.push(...strangers({ plan, batches, tasks, orders }));
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0 && batches.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${batches.length} batches, ${tasks.size} tasks, each there once and DONE`,
  };
}

/** What nobody asked for, or took back. */
function strangers({
  plan,
  batches,
  tasks,
  orders,
}: Pick<Evidence, 'plan' | 'batches' | 'tasks' | 'orders'>): string[] {
  const asked = new Map(wanted(plan).map((batch) => [batch.bizKey, batch]));
  const names = new Set([...asked.values()].flatMap((batch) => taskNames({ plan }, batch)));
  return [
    ...batches
      .filter(({ bizKey }) => !asked.has(bizKey))
      .map(({ bizKey }) => `${bizKey}: rolled back, but there`),
    ...orders
      .filter((key) => !asked.has(key))
      .map((key) => `${key}: its order was rolled back, but is there`),
    ...[...tasks.keys()].filter((name) => !names.has(name)).map((name) => `${name}: nobody asked for it`),
  ];
}

/**
 * I2: the end of each batch was told once, after the effects of all its tasks.
 * @param evidence - store and ledger.
 */
export function checkEndedOnce({ plan, ends }: Evidence): Verdict {
  const wrong: string[] = [];
  const dags = new Map(plan.dags.map((dag) => [dag.name, dag.tasks]));
  for (const { bizKey, dag } of wanted(plan)) {
    const own = ends.filter((end) => end.bizKey === bizKey);
    const rows = (dags.get(dag) ?? []).filter(({ mode }) => mode === 'transactional').length;
    if (own.length !== 1) wrong.push(`${bizKey} ended ${own.length} times`);
    for (const { status, effects } of own) {
      if (status !== 'DONE' || effects !== rows)
        wrong.push(`${bizKey} ended as ${status} with ${effects} of ${rows} rows`);
    }
  }
  return {
    invariant: 'I2 each batch ended once',
    held: wrong.length === 0 && ends.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${ends.length} ends, each after the last effect`,
  };
}

/**
 * I8: nothing is under way, nothing is left to count.
 * @param evidence - store and ledger.
 */
export function checkNothingLeft({ batches, tasks, ticks }: Evidence): Verdict {
  const count = (status: string) => [...tasks.values()].filter((task) => task.status === status).length;
  const [processing, ready] = [count('PROCESSING'), count('READY')];
  const open = batches.filter(({ status, openCount }) => status === 'RUNNING' || openCount !== 0).length;
  return {
    invariant: 'I8 nothing left',
    held: ticks + processing + ready + open === 0,
    evidence: `${processing} PROCESSING, ${ready} READY, ${ticks} ticks, ${open} open batches`,
  };
}

/**
 * A caller is refused with "try again later" and nothing else.
 * @param evidence - store and ledger.
 */
export function checkRefusals({ testimony: { refusals } }: Evidence): Verdict {
  const clean = ['BACKEND_UNAVAILABLE', 'COMMIT_UNKNOWN', 'TX_TIMEOUT'];
  return {
    invariant: 'refused cleanly',
    held: Object.keys(refusals).every((code) => clean.includes(code)),
    evidence:
      Object.entries(refusals)
        .map(([code, times]) => `${code} × ${times}`)
        .join(', ') || 'no call refused',
  };
}

const taskNames = ({ plan }: Pick<Evidence, 'plan'>, { bizKey, dag }: PlannedBatch): string[] =>
  (plan.dags.find(({ name }) => name === dag)?.tasks ?? []).map(({ key }) => taskName(bizKey, key));
