import { seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { Envelope } from '../src/model.js';
import { OpId } from '../src/op-id.js';
import { OperationHandle } from '../src/orchestrator.js';
import { Outcome } from '../src/outcome.js';
import { isTerminal, OPERATION_STATES, StateTransition } from '../src/states.js';

const ID = OpId.of('01900000-0000-7000-8000-0000000000AB');

describe('OpId', () => {
  it('orchestrator FR-1: ids are UUIDs of version 7, unique, and in the order of time', () => {
    const clock = new ManualClock();
    const rng = seededRng('ids');
    const ids = Array.from({ length: 10_000 }, () => OpId.next(clock, rng));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids.slice(0, 100))
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    void clock.advance(1);
    const later = new ManualClock({ now: clock.now() + 1 });
    expect(OpId.next(later, rng) > (ids.toSorted().at(-1) as string)).toBe(true);
  });

  it('orchestrator FR-1: parses an id in any case and rejects other text', () => {
    expect(ID).toBe('01900000-0000-7000-8000-0000000000ab');
    for (const text of ['', 'x', '01900000', `${ID} `, undefined, null, {}])
      expect(() => OpId.of(text as string)).toThrow(/opId must be a UUID/);
  });
});

describe('Envelope', () => {
  it('orchestrator FR-1: carries the command with tenant, trace and time, and cannot be changed', () => {
    const clock = new ManualClock();
    const command = { domain: 'A', eventType: 'B', bizKey: 'b', idemKey: 'k', payload: null };
    expect(Envelope.now(ID, command, { clock })).toEqual({
      opId: ID,
      tenant: '',
      traceparent: undefined,
      command,
      acceptedAt: new Date(clock.now()),
    });
    expect(Object.isFrozen(Envelope.now(ID, command, { tenant: 't', traceparent: '00-a' }))).toBe(true);
  });
});

describe('Outcome', () => {
  it('orchestrator FR-2: rejects incomplete outcomes, and recognises only its own', () => {
    expect(Outcome.ok()).toEqual({ type: 'Ok' });
    expect(Outcome.ok(1, 'done')).toEqual({ type: 'Ok', data: 1, message: 'done' });
    expect(Outcome.fail('CODE', 'why', { a: 1 })).toEqual({
      type: 'Fail',
      errorCode: 'CODE',
      message: 'why',
      cause: { a: 1 },
    });
    const retry = { reason: 'LATER', attemptCount: 1, nextRetryAfterMs: 0 };
    expect(Outcome.retry(retry)).toEqual({ type: 'Retry', ...retry });
    for (const bad of [
      { reason: '' },
      { attemptCount: 0 },
      { attemptCount: 1.5 },
      { nextRetryAfterMs: -1 },
      { nextRetryAfterMs: Number.NaN },
    ])
      expect(() => Outcome.retry({ ...retry, ...bad })).toThrow(/The outcome cannot be stored/);
    expect(() => Outcome.fail('', 'why')).toThrow(/errorCode/);
    const hostile = new Proxy(
      {},
      {
        has: () => {
          throw new Error('hostile');
        },
      },
    );
    for (const other of [{ type: 'Ok' }, null, 'Ok', undefined, hostile])
      expect(Outcome.is(other)).toBe(false);
    for (const made of [Outcome.ok(), Outcome.fail('A', 'b'), Outcome.retry(retry)]) {
      expect(Outcome.is(made)).toBe(true);
      expect(Object.isFrozen(made)).toBe(true);
      expect(Object.keys(JSON.parse(JSON.stringify(made)) as object)).toEqual(Object.keys(made));
    }
  });
});

describe('OperationHandle', () => {
  it('orchestrator FR-2: has an outcome or a status URL, never both, and is frozen', () => {
    const outcome = Outcome.ok();
    const completed = OperationHandle.completed(ID, outcome);
    expect(completed).toEqual({
      opId: ID,
      completedFast: true,
      responseBodyOrNull: outcome,
      statusUrlOrNull: null,
    });
    const later = OperationHandle.async(ID, '/x/status');
    expect(later).toEqual({
      opId: ID,
      completedFast: false,
      responseBodyOrNull: null,
      statusUrlOrNull: '/x/status',
    });
    for (const handle of [completed, later]) expect(Object.isFrozen(handle)).toBe(true);
  });

  it('orchestrator FR-2: rejects a missing opId, a missing outcome and a blank status URL', () => {
    for (const opId of [undefined, '', null, 5]) {
      expect(() => OperationHandle.completed(opId as never, Outcome.ok())).toThrow(/opId must be an OpId/);
      expect(() => OperationHandle.async(opId as never, '/x')).toThrow(/opId must be an OpId/);
    }
    for (const outcome of [undefined, null, 'Ok'])
      expect(() => OperationHandle.completed(ID, outcome as never)).toThrow(/outcome must be an Outcome/);
    for (const url of [undefined, '', '  ', 7])
      expect(() => OperationHandle.async(ID, url as never)).toThrow(/statusUrl must be a URL/);
  });
});

describe('StateTransition', () => {
  it('orchestrator NFR-2: allows the drawn transitions and no other', () => {
    const allowed = ['PENDING IN_PROGRESS', 'IN_PROGRESS COMPLETED', 'IN_PROGRESS FAILED'];
    for (const from of OPERATION_STATES)
      for (const to of OPERATION_STATES) {
        const step = () => StateTransition.validate(from, to);
        if (allowed.includes(`${from} ${to}`)) expect(step).not.toThrow();
        else expect(step).toThrow(`Invalid transition from ${from} to ${to};`);
      }
    expect(() => StateTransition.validate('NOWHERE' as never, 'FAILED')).toThrow(/from NOWHERE/);
    expect(OPERATION_STATES.filter(isTerminal)).toEqual(['COMPLETED', 'FAILED']);
  });
});
