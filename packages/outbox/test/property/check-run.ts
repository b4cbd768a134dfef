import type { TaskView } from '../../src/model.js';
import {
  type Fate,
  isReached,
  type ModelOutcome,
  type ModelStart,
  type ModelTask,
  needOf,
} from './reference-model.js';

/** Something that a task did, in the order it happened in this process. */
export interface Deed {
  readonly key: string;
  /** `unwanted`: its condition was asked and is false. */
  readonly what: 'begins' | 'done' | 'fails' | 'unwanted';
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** One run of a batch, from its start or a retry to its end. */
export interface Run {
  readonly tasks: readonly ModelTask[];
  readonly start: ModelStart;
  readonly expected: ModelOutcome;
  readonly found: ReadonlyMap<string, TaskView>;
  readonly deeds: readonly Deed[];
  /** Handlers of tasks that were given back or lost. */
  readonly vain: readonly string[];
  /** Tasks whose handlers may still run from before an abort: what they do now says nothing. */
  readonly stragglers: ReadonlySet<string>;
  /** What transactional tasks have written, in this run and before. */
  readonly effects: readonly string[];
  readonly retries: number;
}

/** Whatever began had, at that moment, all it needs behind it, and was given just that; what had ended before did not begin. */
export function wrongOrder({ tasks, start, expected: { ends, parents }, deeds, stragglers }: Run): string[] {
  const wrong: string[] = [];
  const byKey = new Map(tasks.map((one) => [one.key, one]));
  const isSuccess = (key: string) =>
    isReached('all', byKey.get(key) as ModelTask, ends.get(key) ?? 'blocked');
  const succeeded = new Set([...start.fixed.keys()].filter(isSuccess));
  const ended = new Set(start.fixed.keys());
  for (const { key, what, inputs } of deeds) {
    const model = byKey.get(key) as ModelTask;
    if ((what === 'begins' || what === 'unwanted') && !stragglers.has(key)) {
      if (start.fixed.has(key)) wrong.push(`${key} had ended (${start.fixed.get(key)}) and ran again`);
      const after = parents.get(key) ?? [];
      const isBehind = (parent: string) =>
        model.join === 'all-done'
          ? ended.has(parent) || ends.get(parent) === 'skipped by cascade'
          : succeeded.has(parent);
      const behind = after.filter(isBehind);
      if (behind.length < needOf({ join: model.join, after }) && !start.failing)
        wrong.push(`${key} began after ${behind.join()} only, not ${after.join()}`);
      for (const [parent, input] of Object.entries(inputs)) {
        const { of, error } = input as { of?: string; error?: { message?: string } };
        if (!succeeded.has(parent)) wrong.push(`${key} was given ${parent} before its end`);
        if (of !== parent && error?.message !== parent)
          wrong.push(`${key} was given ${JSON.stringify(input)} as ${parent}`);
      }
      const all = after.filter(isSuccess);
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
export function wrongEffects({ tasks, start, found, effects, retries }: Run): string[] {
  const wrong: string[] = [];
  for (const { key, mode, fate } of tasks) {
    const { status, attempts } = found.get(key) ?? { status: 'not there', attempts: -1 };
    const rows = effects.filter((effect) => effect === key).length;
    const isWritten = mode === 'transactional' && status === 'DONE';
    if (rows !== (isWritten ? 1 : 0)) wrong.push(`${key} (${mode}, ${status}) has ${rows} effects`);
    const tries = triesOf(fate, retries);
    if ((status === 'DONE' || status === 'FAILED') && attempts !== tries && !start.fixed.has(key))
      wrong.push(`${key} (${status}) was charged ${attempts} attempts instead of ${tries}`);
  }
  return wrong;
}

function triesOf(fate: Fate, retries: number): number {
  if (fate.kind === 'done') return fate.failures + 1;
  return fate.kind === 'fails' && fate.how === 'every-time' ? retries + 1 : 1;
}

/** Where nothing dies, every run is explained, and no task is lost. */
export function wrongRuns({ tasks, start, found, deeds, vain, stragglers }: Run): string[] {
  const wrong: string[] = [];
  for (const { key } of tasks) {
    if (start.fixed.has(key) || stragglers.has(key)) continue;
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
