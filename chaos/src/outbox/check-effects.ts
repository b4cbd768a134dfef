import type { Verdict } from '../registry.js';
import { some } from '../some.js';
import { byName, type Evidence, isSame, type Run } from './evidence.js';
import { type Plan, taskName, wanted } from './plan.js';
import type { PlannedTask } from './shapes.js';

/** A task of a batch that must have been done. */
interface WantedTask extends PlannedTask {
  readonly name: string;
  readonly bizKey: string;
  /** Attempts it is charged: what its process or PostgreSQL did to it is not its fault. */
  readonly tries: number;
}

function wantedTasks(plan: Plan): WantedTask[] {
  const dags = new Map(plan.dags.map((dag) => [dag.name, dag.tasks]));
  return wanted(plan).flatMap(({ bizKey, dag, payload }) =>
    (dags.get(dag) ?? []).map((task) => {
      const tries = payload.scripts[task.key]?.does === 'fails-first' ? 2 : 1;
      return { ...task, bizKey, tries, name: taskName(bizKey, task.key) };
    }),
  );
}

/**
 * Exactly once: every transactional task has one row, written by the run whose result is recorded.
 * @param evidence - store and ledger.
 */
export function checkOneRowEach({ plan, effects, tasks }: Evidence): Verdict {
  const wrong: string[] = [];
  const rows = byName(effects);
  const writers = wantedTasks(plan).filter(({ mode }) => mode === 'transactional');
  for (const { name } of writers) {
    const own = rows.get(name) ?? [];
    if (own.length !== 1)
      wrong.push(`${name} has ${own.length} rows (${own.map(({ run }) => run).join(', ')})`);
    const result = tasks.get(name)?.result;
    const row = own.find(({ run }) => run === result?.run);
    if (!row || row.seq !== result?.seq)
      wrong.push(`${name} is recorded by ${JSON.stringify(result)}, whose row is not there`);
  }
  const names = new Set(writers.map(({ name }) => name));
  for (const name of rows.keys()) if (!names.has(name)) wrong.push(`${name} has a row and should have none`);
  return {
    invariant: 'exactly one row per task',
    held: wrong.length === 0 && effects.length > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${writers.length} transactional tasks, ${effects.length} rows`,
  };
}

/**
 * I12: a task starts only after its predecessors. Every run, whatever became of it, was given the recorded results of all of
 * them, and every row was written where all of theirs were to be seen.
 * @param evidence - store and ledger.
 */
export function checkOrder({ plan, effects, tasks, testimony }: Evidence): Verdict {
  const wrong: string[] = [];
  const [rows, runs] = [byName(effects), byName(testimony.runs)];
  let edges = 0;
  for (const { name, bizKey, after } of wantedTasks(plan)) {
    edges += after.length;
    for (const key of after) {
      const before = taskName(bizKey, key);
      const parent = tasks.get(before);
      for (const { run, inputs } of runs.get(name) ?? []) {
        if (!isSame(inputs[key], parent?.result))
          wrong.push(`${name} by ${run} got ${JSON.stringify(inputs[key])} of ${key}`);
      }
      const unseen = rows.has(before)
        ? (rows.get(name) ?? []).filter(({ found }) => !found.includes(key))
        : [];
      for (const { run } of unseen) wrong.push(`${name} by ${run} did not see the row of ${key}`);
    }
  }
  return {
    invariant: 'I12 after its predecessors',
    held: wrong.length === 0 && edges > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${edges} edges, ${testimony.runs.length} runs`,
  };
}

/**
 * I3: a task ran at least once and at most as often as it was given out, only its own failures cost attempts, and what is
 * recorded is a run that ended well.
 * @param evidence - store and ledger.
 */
export function checkRuns({ plan, tasks, testimony }: Evidence): Verdict {
  const wrong: string[] = [];
  const runs = byName(testimony.runs);
  const external = wantedTasks(plan).filter(({ mode }) => mode === 'external');
  for (const { name, tries } of wantedTasks(plan)) {
    const own = runs.get(name) ?? [];
    const { attempts = 0, lost = 0, result } = tasks.get(name) ?? {};
    if (own.length === 0) wrong.push(`${name} never ran`);
    if (attempts !== tries) wrong.push(`${name} was charged ${attempts} attempts`);
    if (own.length > attempts + lost)
      wrong.push(`${name} ran ${own.length} times, with ${attempts} attempts and ${lost} losses`);
    if (!own.some(({ run, how }) => run === result?.run && how === 'done'))
      wrong.push(`${name} is recorded by ${result?.run}, which did not end well`);
  }
  const again = testimony.runs.length - runs.size;
  return {
    invariant: 'I3 executions explained',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${testimony.runs.length} runs, ${again} of them repeats; ${external.length} external tasks at least once`,
  };
}

/**
 * I4: what a run did under a claim that was taken away changes nothing. Runs that were frozen past their lease ended in
 * vain when they woke.
 * @param evidence - store and ledger.
 */
export function checkStaleRefused({ tasks, testimony }: Evidence): Verdict {
  const runs = byName(testimony.runs);
  const vainly = (some: readonly Run[]) =>
    some.filter(({ name, run, how }) => how === 'done' && tasks.get(name)?.result?.run !== run).length;
  const frozen = testimony.runs.filter((run) => run.frozen !== undefined);
  const wrong: string[] = [];
  for (const { name, run, frozen: when } of frozen) {
    const after = (runs.get(name) ?? []).find(
      (other) => other.run !== run && when && other.beganAt > when.from && other.beganAt < when.to,
    );
    if (after && tasks.get(name)?.result?.run === run)
      wrong.push(`${name} by ${run} was recorded, though ${after.run} had it by then`);
  }
  return {
    invariant: 'I4 stale claims change nothing',
    held: wrong.length === 0 && frozen.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${frozen.length} runs frozen past their lease, ${vainly(frozen)} of them ended well and in vain when they woke; ${vainly(testimony.runs)} of all`,
  };
}
