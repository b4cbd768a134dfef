import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { TASKS } from './perform.js';

/**
 * Exactly one effect: a batch that is done has one row per task, one that was aborted none twice; the operation completed exactly if the batch is
 * done, unless it was cancelled in that moment.
 */
export function checkBatches({ operations, batches, effects }: Evidence): Verdict {
  const wrong: string[] = [];
  const own = operations.filter(({ event }) => event === 'BATCH');
  for (const { opId, key, state, ahead } of own) {
    const status = batches.get(opId);
    const rows = effects.get(opId) ?? [];
    const times = TASKS.map((task) => rows.filter((row) => row === task).length);
    if (times.some((count) => count > 1)) wrong.push(`${key} has rows ${rows.join()}`);
    if (status === 'DONE' && rows.length !== TASKS.length)
      wrong.push(`${key} is done with ${rows.length} rows`);
    if (status === undefined && rows.length > 0) wrong.push(`${key} has rows, and no batch`);
    const isRight = state === 'COMPLETED' ? status === 'DONE' : ahead || status !== 'DONE';
    if (!isRight) wrong.push(`${key} is ${state}, its batch ${status}`);
  }
  const known = new Set(own.map(({ opId }) => opId));
  for (const opId of new Set([...batches.keys(), ...effects.keys()]))
    if (!known.has(opId)) wrong.push(`${opId} has a batch or rows, and no operation`);
  const count = (wanted: string) => [...batches.values()].filter((status) => status === wanted).length;
  return {
    invariant: 'I12 batches: exactly one effect',
    held: wrong.length === 0 && count('DONE') > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${count('DONE')} done with ${TASKS.length} rows each, ${count('ABORTED')} aborted, ${own.length - batches.size} cancelled before`,
  };
}

/** An errand was run where its operation says so, and what was forgotten was sent again. */
export function checkErrands({ plan, operations, errands }: Evidence): Verdict {
  const wrong: string[] = [];
  const forgotten = new Set(plan.commands.filter(({ payload }) => payload.forgotten).map(({ key }) => key));
  let again = 0;
  for (const { opId, key, state } of operations.filter(({ event }) => event === 'ERRAND')) {
    const errand = errands.get(opId);
    if (state !== 'COMPLETED') continue;
    if (!errand || errand.cancelled)
      wrong.push(`${key} completed, its errand is ${errand ? 'cancelled' : 'not there'}`);
    if (!forgotten.has(key)) continue;
    again += 1;
    if (errand && errand.sent < 2) wrong.push(`${key} was forgotten, and sent ${errand.sent} times`);
  }
  return {
    invariant: 'errands: run, again when forgotten',
    held: wrong.length === 0 && errands.size > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${errands.size} errands, ${again} sent again after they were gone`,
  };
}
