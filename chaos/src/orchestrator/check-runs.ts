import { some, type Verdict } from '../registry.js';
import { byOperation, type Change, type Evidence, type Run } from './evidence.js';
import { ownerOf } from './settings.js';

/** Why an operation lost its owner without an end, so that somebody may run it again. */
interface Partings {
  /** The lease of its owner ended. */
  readonly losses: readonly Change[];
  readonly retries: number;
  /** Its instance was asked to end. */
  readonly givenBack: number;
}

/**
 * I3: a handler ran at most once more than its operation was lost, retried or given back; at most once where the route says so.
 */
export function checkExecutions({ operations, changes, testimony }: Evidence): Verdict {
  const wrong: string[] = [];
  const runs = byOperation(testimony.runs);
  let lost = 0;
  let dead = 0;
  for (const { opId, key, event } of operations) {
    const own = runs.get(opId) ?? [];
    const { losses, retries, givenBack } = partings(changes.get(opId) ?? []);
    lost += losses.length;
    dead += losses.filter((loss) => isOfDead(loss, testimony.diedAt)).length;
    const most = event === 'ONCE' ? 1 : 1 + losses.length + retries + givenBack;
    if (own.length > most)
      wrong.push(
        `${event} ${key} ran ${own.length} times, with ${losses.length} losses, ${retries} retries, ${givenBack} given back`,
      );
    const effects = own.filter(({ effect }) => effect).length;
    if (event === 'ONCE' && effects > 1) wrong.push(`${event} ${key} had ${effects} effects`);
  }
  const again = testimony.runs.length - runs.size;
  const once = operations.filter(({ event, opId }) => event === 'ONCE' && runs.has(opId)).length;
  return {
    invariant: 'I3 executions explained',
    held: wrong.length === 0 && testimony.runs.length > 0 && once > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${testimony.runs.length} runs, ${again} of them repeats; ${lost} losses, ${dead} of them to a death, the others to a silence; ${once} of ONCE once each`,
  };
}

const isOfDead = ({ fromOwner, at }: Change, diedAt: ReadonlyMap<number, number>): boolean =>
  [...diedAt].some(([pid, since]) => ownerOf(pid) === fromOwner && since <= at);

function partings(changes: readonly Change[]): Partings {
  const freed = changes
    .map((change, at) => ({ change, before: changes[at - 1] }))
    .filter(({ change }) => change.fromOwner !== null && change.toOwner === null && change.from !== null);
  const settled = freed.filter(({ change }) => change.settled && change.to === 'IN_PROGRESS');
  const isGivenBack = ({ change, before }: (typeof freed)[number]) =>
    change.settled && before !== undefined && change.attempts < before.attempts && !isRefused(change, before);
  return {
    losses: freed.filter(({ change }) => !change.settled && !change.ahead).map(({ change }) => change),
    retries: settled.filter(({ change, before }) => change.attempts === before?.attempts).length,
    givenBack: freed.filter(isGivenBack).length,
  };
}

const isRefused = (change: Change, before: Change): boolean => change.refusals > before.refusals;

/**
 * I4: what a run did for an owner that had lost the operation changes nothing: each result is that of a run that ended well in the process that
 * owned the operation when it ended, and each owner had a higher token than the one before.
 */
export function checkStaleRefused({ operations, changes, testimony }: Evidence): Verdict {
  const wrong: string[] = [];
  const runs = new Map(testimony.runs.map((run) => [run.run, run]));
  const recorded = new Set<string>();
  for (const { opId, key, outcome, state } of operations) {
    const own = changes.get(opId) ?? [];
    const forged = own.find((change, at) => !hasDueToken(own[at - 1], change));
    if (forged) wrong.push(`${key} has token ${forged.token} for ${forged.toOwner}`);
    const name = outcome?.type === 'Ok' && (outcome.data as { readonly run?: string } | undefined)?.run;
    if (state !== 'COMPLETED' || typeof name !== 'string') continue;
    const run = runs.get(name);
    const owner = own.at(-1)?.fromOwner;
    recorded.add(name);
    if (!isGood(run, opId)) wrong.push(`${key} is recorded by ${name}, which did not end well`);
    else if (ownerOf(run.pid) !== owner) wrong.push(`${key} is recorded by ${name}, and was ${owner}'s`);
  }
  const stale = testimony.runs.filter(({ how, run }) => how === 'done' && !recorded.has(run)).length;
  return {
    invariant: 'I4 stale owners change nothing',
    held: wrong.length === 0 && recorded.size > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${recorded.size} results, each of the owner's run; ${stale} runs ended in vain`,
  };
}

const isGood = (run: Run | undefined, opId: string): run is Run =>
  run !== undefined && run.opId === opId && run.how === 'done' && run.effect;

function hasDueToken(before: Change | undefined, { token, fromOwner, toOwner }: Change): boolean {
  if (!before) return token === 1;
  return token === before.token + (fromOwner === null && toOwner !== null ? 1 : 0);
}
