import { expect, it } from 'vitest';
import type { Operation, RunRef } from '../../src/model.js';
import { type OperationState, TRANSITIONS } from '../../src/states.js';
import {
  BACKED,
  CANCELLED,
  FAIL,
  type Home,
  LEASE_MS,
  OK,
  REFUSED,
  RELEASED,
  RETRY,
  type StoreSuite,
} from './home.js';

type Situation = readonly [name: string, state: OperationState, make: (home: Home) => Promise<RunRef>];
type Verb = readonly [name: string, call: (home: Home, ref: RunRef) => Promise<unknown>];

const cancelled = async (home: Home, ref: RunRef): Promise<RunRef> => {
  await home.store.repairs.cancel(ref.opId, CANCELLED);
  return ref;
};
const BULK = { kind: 'bulk' } as const;

/** Every place that an operation can be in. */
const SITUATIONS: readonly Situation[] = [
  ['pending and owned', 'PENDING', (home) => home.pending()],
  ['pending and given back', 'PENDING', givenBack],
  ['running', 'IN_PROGRESS', (home) => home.running()],
  ['waiting', 'IN_PROGRESS', (home) => home.settled({ ...RETRY, delayMs: 0 })],
  ['backed', 'IN_PROGRESS', (home) => home.settled(BACKED, BULK)],
  ['cancelled, being handed over', 'IN_PROGRESS', async (home) => cancelled(home, await home.running(BULK))],
  ['cancelled, backed', 'IN_PROGRESS', async (home) => cancelled(home, await home.settled(BACKED, BULK))],
  ['completed', 'COMPLETED', (home) => home.settled(OK)],
  ['failed', 'FAILED', (home) => home.settled(FAIL)],
  ['cancelled', 'FAILED', async (home) => cancelled(home, await home.running())],
];

async function givenBack(home: Home): Promise<RunRef> {
  const ref = await home.pending();
  await home.store.runs.settle(ref, RELEASED);
  return ref;
}

const OTHER_END = { ...FAIL, deadLetter: false } as const;

/** Every change that anybody can ask for; with the token of the first owner. */
const VERBS: readonly Verb[] = [
  ['begin', (home, ref) => home.store.runs.begin([ref])],
  ['settle final', (home, ref) => home.store.runs.settle(ref, OTHER_END)],
  ['settle retry', (home, ref) => home.store.runs.settle(ref, RETRY)],
  ['settle refused', (home, ref) => home.store.runs.settle(ref, REFUSED)],
  ['settle backed', (home, ref) => home.store.runs.settle(ref, BACKED)],
  ['settle released', (home, ref) => home.store.runs.settle(ref, RELEASED)],
  ['extend', (home, ref) => home.store.runs.extend([ref], 5)],
  ['claim', (home) => home.claim()],
  ['endBacked', (home, ref) => home.store.repairs.endBacked(ref.opId, OTHER_END)],
  ['dropBacking', (home, ref) => home.store.repairs.dropBacking(ref.opId)],
  ['cancel', (home, ref) => home.store.repairs.cancel(ref.opId, CANCELLED)],
  ['finalize', (home, ref) => home.store.repairs.finalize(ref.opId)],
  ['reap', (home) => home.store.repairs.reap(9)],
  ['watch', (home, ref) => home.store.views.watch([ref.opId], 5)],
];

const isAllowed = (from: OperationState, to: OperationState): boolean =>
  from === to ||
  TRANSITIONS[from].includes(to) ||
  TRANSITIONS[from].some((between) => TRANSITIONS[between].includes(to));

/** What must hold of an operation, wherever it is. */
function checkShape(operation: Operation): void {
  const { state, outcome, startedAt, endedAt, owner, dueAt, deadLetter } = operation;
  const isEnded = state === 'COMPLETED' || state === 'FAILED';
  expect(endedAt !== undefined).toBe(isEnded);
  expect(startedAt !== undefined).toBe(state !== 'PENDING');
  if (isEnded)
    expect([outcome?.type === 'Ok', owner, dueAt]).toEqual([state === 'COMPLETED', undefined, undefined]);
  if (deadLetter) expect(state).toBe('FAILED');
  if (owner !== undefined) expect(dueAt).toBeUndefined();
}

export const transitionsSuite: StoreSuite = (home) => {
  it.each(SITUATIONS)(
    'orchestrator FR-2: from %s every verb leads where the machine allows, or nowhere',
    async (_, state, make) => {
      for (const [verb, call] of VERBS) {
        const ref = await make(home());
        // Later, so that leases have ended and whatever waits is due.
        await home().moveTime(LEASE_MS);
        const before = await home().get(ref.opId);
        expect(before.state).toBe(state);
        checkShape(before);
        await call(home(), ref);
        const after = await home().get(ref.opId);
        expect([verb, isAllowed(before.state, after.state)]).toEqual([verb, true]);
        checkShape(after);
        if (before.endedAt) expect([verb, after]).toEqual([verb, before]);
        await home().store.repairs.cancel(ref.opId, CANCELLED);
        await home().moveTime(LEASE_MS);
        await home().store.repairs.reap(100);
        await home().store.repairs.finalize(ref.opId);
        expect((await home().get(ref.opId)).endedAt).toBeDefined();
      }
    },
  );
};
