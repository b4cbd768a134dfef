import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { taskName, tasksOf, wanted } from './plan.js';

/**
 * I1: what was acknowledged exists once, under the id that callers were told, with all its tasks; what a caller rolled back does not exist.
 */
export function checkNoLoss({ plan, testimony, batches, tasks, orders }: Evidence): Verdict {
  const wrong: string[] = [];
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
    if (ordered !== (batch.push === 'with-order' ? 1 : 0)) wrong.push(`${bizKey} has ${ordered} orders`);
    for (const { key, addedBy } of tasksOf(plan, batch)) {
      const isDue = addedBy === undefined || tasks.get(taskName(bizKey, addedBy))?.status === 'DONE';
      const isThere = tasks.has(taskName(bizKey, key));
      if (isThere !== isDue) wrong.push(`${bizKey}#${key} is ${isThere ? '' : 'not '}there`);
    }
  }
  wrong.push(...strangers({ plan, batches, tasks, orders }));
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0 && batches.length > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${batches.length} batches, ${tasks.size} tasks, each there once`,
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
  const names = new Set(
    [...asked.values()].flatMap((batch) =>
      tasksOf(plan, batch).map(({ key }) => taskName(batch.bizKey, key)),
    ),
  );
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
 * I2: each end of each batch was told once, as what it was, after the effects of all its tasks. A batch that nobody retries ends once.
 */
export function checkEndedOnce({ plan, batches, tasks, ends, moves }: Evidence): Verdict {
  const wrong: string[] = [];
  for (const batch of wanted(plan)) {
    const { bizKey, story } = batch;
    const told = ends.filter((end) => end.bizKey === bizKey);
    const happened = moves.filter((move) => move.bizKey === bizKey && move.to !== 'RUNNING');
    const [last, stored] = [told.at(-1), batches.find((other) => other.bizKey === bizKey)];
    const names = (all: readonly string[]) => all.join() || 'nothing';
    const [said, done] = [names(told.map(({ status }) => status)), names(happened.map(({ to }) => to))];
    if (said !== done) wrong.push(`${bizKey} came to ${done}, and ${said} was told`);
    if (last?.status !== stored?.status)
      wrong.push(`${bizKey} is ${stored?.status}, and ${last?.status} was told last`);
    if (!story?.mends && told.length !== 1) wrong.push(`${bizKey} ended ${told.length} times`);
    const rows = tasksOf(plan, batch).filter(
      ({ key, mode }) => mode === 'transactional' && tasks.get(taskName(bizKey, key))?.status === 'DONE',
    ).length;
    if (last && last.effects !== rows) wrong.push(`${bizKey} ended with ${last.effects} of ${rows} rows`);
  }
  return {
    invariant: 'I2 each end told once',
    held: wrong.length === 0 && ends.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${ends.length} ends of ${batches.length} batches, each after the last effect`,
  };
}

/** I8: nothing is under way, nothing is left to count. */
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

/** A caller is refused with "try again later" and nothing else. */
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
