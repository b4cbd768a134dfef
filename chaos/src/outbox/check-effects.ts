import { some, type Verdict } from '../registry.js';
import { byName, type Evidence, isSame, type Run, reopened, type StoredTask } from './evidence.js';
import { stateOf } from './expected.js';
import { taskName, tasksOf, wanted } from './plan.js';
import { type TaskScript, TRIES } from './scripts.js';
import type { PlannedTask } from './shapes.js';

/** A task that was asked for, and what became of it. */
interface AskedTask extends PlannedTask {
  readonly name: string;
  readonly bizKey: string;
  readonly does: TaskScript['does'] | undefined;
  readonly stored: StoredTask | undefined;
  /** Whether its batch was ended and run again. */
  readonly isAgain: boolean;
}

function askedTasks(evidence: Pick<Evidence, 'plan' | 'tasks' | 'moves'>): AskedTask[] {
  const { plan, tasks } = evidence;
  const again = reopened(evidence);
  return wanted(plan).flatMap((batch) =>
    tasksOf(plan, batch).map((task) => {
      const { bizKey, payload } = batch;
      const name = taskName(bizKey, task.key);
      const does = payload.scripts[task.key]?.does;
      return { ...task, name, bizKey, does, stored: tasks.get(name), isAgain: again.has(bizKey) };
    }),
  );
}

/**
 * Exactly once: every transactional task that is done has one row, written by the run whose result is recorded; every other has none, whatever
 * it had written when it failed or was cancelled.
 */
export function checkOneRowEach(evidence: Evidence): Verdict {
  const wrong: string[] = [];
  const rows = byName(evidence.effects);
  const all = askedTasks(evidence);
  const writers = all.filter(({ mode, stored }) => mode === 'transactional' && stored?.status === 'DONE');
  for (const { name, stored } of writers) {
    const own = rows.get(name) ?? [];
    if (own.length !== 1)
      wrong.push(`${name} has ${own.length} rows (${own.map(({ run }) => run).join(', ')})`);
    const result = stored?.result;
    const row = own.find(({ run }) => run === result?.run);
    if (!row || row.seq !== result?.seq)
      wrong.push(`${name} is recorded by ${JSON.stringify(result)}, whose row is not there`);
  }
  const names = new Set(writers.map(({ name }) => name));
  for (const name of rows.keys())
    if (!names.has(name))
      wrong.push(`${name} has a row, and is ${stateOf(evidence.tasks.get(name))}, or not transactional`);
  const others = all.filter(({ mode }) => mode === 'transactional').length - writers.length;
  return {
    invariant: 'I12 exactly one row per task',
    held: wrong.length === 0 && evidence.effects.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${writers.length} transactional tasks done, ${evidence.effects.length} rows; ${others} not done, no row`,
  };
}

/**
 * I12: a task starts only after its predecessors, as its join wants. Every run, whatever became of it, was given the recorded results
 * of those that it needed, and every row was written where all of theirs were to be seen.
 */
export function checkOrder(evidence: Evidence): Verdict {
  const { effects, testimony } = evidence;
  const wrong: string[] = [];
  const [rows, runs] = [byName(effects), byName(testimony.runs)];
  const asked = new Map(askedTasks(evidence).map((task) => [task.name, task]));
  let edges = 0;
  for (const task of asked.values()) {
    edges += task.after.length;
    for (const { run, inputs } of runs.get(task.name) ?? []) {
      const problem = wrongInputs(task, inputs, asked);
      if (problem) wrong.push(`${task.name} by ${run} ${problem}`);
      const row = (rows.get(task.name) ?? []).find((own) => own.run === run);
      for (const [key, input] of row ? Object.entries(inputs) : []) {
        const hasRow = rows.has(taskName(task.bizKey, key)) && !isError(input);
        if (hasRow && !row?.found.includes(key))
          wrong.push(`${task.name} by ${run} did not see the row of ${key}`);
      }
    }
  }
  return {
    invariant: 'I12 after its predecessors',
    held: wrong.length === 0 && edges > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${edges} edges, ${testimony.runs.length} runs`,
  };
}

/** Whether an input is the error of a task that failed under `continue`, not a result. */
const isError = (input: unknown): boolean => !!(input as { readonly error?: unknown } | undefined)?.error;

/** What is wrong with what a run was given. */
function wrongInputs(
  { join = 'all', after, bizKey, isAgain }: AskedTask,
  inputs: Run['inputs'],
  asked: ReadonlyMap<string, AskedTask>,
): string | undefined {
  const parents = after
    .flatMap((key) => asked.get(taskName(bizKey, key)) ?? [])
    .filter(({ stored }) => stored !== undefined);
  for (const [key, input] of Object.entries(inputs)) {
    const { stored, onFailure } = parents.find((parent) => parent.key === key) ?? {};
    const expected = stored?.status === 'FAILED' ? { error: stored.error } : stored?.result;
    // What failed under `continue` may have been retried since.
    const isOfBefore = isAgain && isError(input) && onFailure === 'continue';
    if (!isSame(input, expected) && !isOfBefore) return `got ${JSON.stringify(input)} of ${key}`;
  }
  const given = Object.keys(inputs).length;
  if (join !== 'all-done') {
    const need = join === 'all' ? parents.length : join === 'any' ? 1 : join.atLeast;
    return given < need ? `was given ${given} results, and needs ${need}` : undefined;
  }
  const missing = parents.find(
    ({ key, stored, onFailure }) =>
      !(key in inputs) &&
      (stored?.status === 'DONE' || (stored?.status === 'FAILED' && onFailure === 'continue')),
  );
  // Before its batch was retried, it may have ended otherwise.
  return missing && !isAgain ? `was not given the result of ${missing.key}` : undefined;
}

/** Attempts that a task is charged, by how it ended: what its process or PostgreSQL did to it is not its fault. */
function chargedAttempts({ stored, does }: AskedTask): number | undefined {
  switch (stateOf(stored)) {
    case 'DONE':
      return does === 'fails-first' ? 2 : 1;
    case 'FAILED':
      return does === 'fails-always' ? TRIES : 1;
    case 'SKIPPED by condition':
      return 1;
    case 'SKIPPED by cascade':
      return 0;
    default:
      return undefined; // Cancelled at any of them.
  }
}

/**
 * I3: a task that ended by itself ran at least once and at most as often as it was given out, one that was skipped never; only its own failures cost
 * attempts, and what is recorded is a run that ended well.
 */
export function checkRuns(evidence: Evidence): Verdict {
  const { testimony } = evidence;
  const wrong: string[] = [];
  const runs = byName(testimony.runs);
  const all = askedTasks(evidence);
  for (const task of all) {
    const { name, stored, isAgain } = task;
    const own = runs.get(name) ?? [];
    const { attempts = 0, lost = 0, result, status = 'not there' } = stored ?? {};
    const charged = chargedAttempts(task);
    if (charged !== undefined && attempts !== charged) wrong.push(`${name} was charged ${attempts} attempts`);
    if ((status === 'DONE' || status === 'FAILED') && own.length === 0) wrong.push(`${name} never ran`);
    if ((status === 'SKIPPED' || !stored) && own.length > 0)
      wrong.push(`${name} is ${stateOf(stored)}, and ran`);
    const unended = testimony.unended?.get(name) ?? { lost: 0, returned: 0 };
    // What a process gave back, and was not answered, it calls lost; the store then counts no loss.
    const uncharged = Math.max(lost, unended.lost) + unended.returned;
    // A retry begins to count anew.
    if (!isAgain && own.length > attempts + uncharged)
      wrong.push(`${name} ran ${own.length} times, with ${attempts} attempts and ${uncharged} losses`);
    if (status === 'DONE' && !own.some(({ run, how }) => run === result?.run && how === 'done'))
      wrong.push(`${name} is recorded by ${result?.run}, which did not end well`);
  }
  const again = testimony.runs.length - runs.size;
  const external = all.filter(({ mode, stored }) => mode === 'external' && stored?.status === 'DONE').length;
  return {
    invariant: 'I3 executions explained',
    held: wrong.length === 0 && testimony.runs.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${testimony.runs.length} runs, ${again} of them repeats; ${external} external tasks at least once`,
  };
}

/**
 * I4: what a run did under a claim that was taken away changes nothing. Runs that were frozen past their lease ended in
 * vain when they woke.
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
