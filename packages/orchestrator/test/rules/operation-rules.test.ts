import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Envelope, type NewOperation, type Settlement } from '../../src/model.js';
import type { OpId } from '../../src/op-id.js';
import { newRecord, type OperationRecord, toOperation } from '../../src/rules/operation-record.js';
import {
  begin,
  claim,
  clampTimes,
  extendLease,
  isOwnedBy,
  judgeKey,
  noteWait,
} from '../../src/rules/own-operation.js';
import { cancel, dropBacking, endBacked, finalize, reap } from '../../src/rules/repair-operation.js';
import { end, settle, writtenSettlement } from '../../src/rules/settle-operation.js';
import { isTerminal, StateTransition } from '../../src/states.js';
import { toOutcomeText } from '../../src/stored-json.js';
import { BACKED, CANCELLED, FAIL, OK, REFUSED, RELEASED, RETRY } from '../contract/home.js';

const ID = '0190a000-0000-7000-8000-000000000001' as OpId;
const command = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'b', idemKey: 'i', payload: null };

const given = (traits: NewOperation['traits']): NewOperation => ({
  envelope: Envelope.now(ID, command),
  traits,
  bodyHash: 'h',
  owner: 'one',
  leaseMs: 100,
  keyTtlMs: 1_000,
});

/** A step that a store may be asked for at any time; undefined: refused. */
type Step = (record: OperationRecord, now: number) => OperationRecord | undefined;

const settling =
  (settlement: Settlement, stale: number): Step =>
  (record, now) =>
    settle(record, record.token - stale, writtenSettlement(record.token - stale, settlement), now);

const ended = (ending: typeof OK): Step => {
  const { outcomeText, mark } = writtenSettlement('backing', ending);
  return (record, now) => endBacked(record, { ...ending, outcomeText }, mark, now);
};

const STEPS: readonly Step[] = [
  ...[OK, FAIL, RETRY, REFUSED, BACKED, RELEASED].flatMap((one) => [settling(one, 0), settling(one, 1)]),
  ended(OK),
  ended(FAIL),
  dropBacking,
  (record, now) => cancel(record, toOutcomeText(CANCELLED), now),
  finalize,
  (record, now) => (isOwnedBy(record, record.token) ? begin(record, now) : undefined),
  (record, now) => (isOwnedBy(record, record.token) ? extendLease(record, 100, now) : undefined),
  (record, now) =>
    record.leaseUntil !== undefined && record.leaseUntil <= now ? reap(record, now) : undefined,
  (record, now) =>
    record.dueAt !== undefined && record.dueAt <= now
      ? claim(record, { owner: 'two', leaseMs: 100 }, now)
      : undefined,
  (record, now) => noteWait(record, 50, now),
  clampTimes,
];

const anyTraits = fc.record({
  kind: fc.constantFrom('inline', 'bulk'),
  attemptsMax: fc.integer({ min: 1, max: 3 }),
  onLost: fc.constantFrom('retry' as const, 'fail' as const),
  idempotent: fc.boolean(),
});
const anySteps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(0, 1, 100, 600, -50)), {
  maxLength: 40,
});

/** What must hold of every record. */
function checkRecord(record: OperationRecord): void {
  const {
    owner,
    leaseUntil,
    leaseFrom,
    dueAt,
    dueFrom,
    backing,
    ahead,
    endedAt,
    state,
    attempts,
    startedAt,
  } = record;
  expect(endedAt !== undefined).toBe(isTerminal(state));
  expect(startedAt === undefined).toBe(state === 'PENDING');
  expect(owner === undefined).toBe(leaseUntil === undefined);
  expect(leaseFrom === undefined).toBe(leaseUntil === undefined);
  expect(dueFrom === undefined).toBe(dueAt === undefined);
  if (owner !== undefined) expect(attempts).toBeGreaterThanOrEqual(1);
  expect(attempts).toBeGreaterThanOrEqual(0);
  const places = [owner, dueAt, backing].filter((place) => place !== undefined).length;
  if (endedAt !== undefined) expect([owner, dueAt]).toEqual([undefined, undefined]);
  else expect(places === 1 || (places === 0 && ahead)).toBe(true);
  const { outcome } = toOperation(record);
  if (state === 'COMPLETED') expect(outcome?.type).toBe('Ok');
  if (ahead) expect(outcome).toEqual(CANCELLED);
}

describe('the rules of an operation', () => {
  it('orchestrator NFR-2: after any calls in any order an operation is in one place, and its end never changes', () => {
    fc.assert(
      fc.property(anyTraits, anySteps, (traits, steps) => {
        let now = 1_000;
        let record = newRecord(given(traits), now);
        checkRecord(record);
        for (const [step, later] of steps) {
          now += later;
          const next = step(record, now);
          if (!next) continue;
          checkRecord(next);
          expect(next.token).toBeGreaterThanOrEqual(record.token);
          if (record.endedAt !== undefined) expect(next).toBe(record);
          if (record.ahead) expect(next.outcomeText).toBe(record.outcomeText);
          record = next;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('orchestrator NFR-2: ends every operation from any state', () => {
    fc.assert(
      fc.property(anyTraits, anySteps, (traits, steps) => {
        let now = 1_000;
        let record = newRecord(given(traits), now);
        for (const [step, later] of steps) {
          now += later;
          record = step(record, now) ?? record;
        }
        now += 1_000_000;
        record = clampTimes(record, now) ?? record;
        record = cancel(record, toOutcomeText(CANCELLED), now) ?? record;
        if (record.owner !== undefined) record = reap(record, now);
        record = finalize(record, now) ?? record;
        expect(record.endedAt).toBeDefined();
      }),
      { numRuns: 300 },
    );
  });

  it('orchestrator NFR-2: rejects a second end', () => {
    const traits = { kind: 'inline', attemptsMax: 1, onLost: 'retry', idempotent: false } as const;
    const once = end(
      newRecord(given(traits), 1),
      { state: 'FAILED', outcomeText: '{}', deadLetter: true },
      2,
    );
    expect(() => end(once, { state: 'COMPLETED', outcomeText: '{}', deadLetter: false }, 3)).toThrow(
      /Invalid transition/,
    );
    expect(() => StateTransition.validate('PENDING', 'COMPLETED')).toThrow(/allowed: IN_PROGRESS/);
  });

  it.each([
    ['running, old', { acceptedAt: 0, endedAt: undefined, bodyHash: 'h' }, 5_000, 'known'],
    ['running, old, another body', { acceptedAt: 0, endedAt: undefined, bodyHash: 'x' }, 5_000, 'conflict'],
    ['ended, young', { acceptedAt: 0, endedAt: 1, bodyHash: 'h' }, 999, 'known'],
    ['ended, young, another body', { acceptedAt: 0, endedAt: 1, bodyHash: 'x' }, 999, 'conflict'],
    ['ended, old', { acceptedAt: 0, endedAt: 1, bodyHash: 'h' }, 1_000, 'expired'],
    ['ended, old, another body', { acceptedAt: 0, endedAt: 1, bodyHash: 'x' }, 1_000, 'expired'],
  ] as const)('orchestrator FR-1: a key whose operation is %s', (_, holder, now, verdict) => {
    expect(judgeKey(holder, { bodyHash: 'h', keyTtlMs: 1_000 }, now)).toBe(verdict);
  });
});
