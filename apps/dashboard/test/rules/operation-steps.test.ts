import { expect, it } from 'vitest';
import {
  type OperationLife,
  operationSteps,
  outcomeText,
  pacedSteps,
  shownState,
} from '../../src/rules/operation-steps.js';

const START = Date.parse('2026-11-16T08:00:00.000Z');
const at = (ms: number): string => new Date(START + ms).toISOString();

const life = (change: Partial<OperationLife>): OperationLife => ({
  state: 'PENDING',
  outcome: null,
  attempts: 0,
  attemptsMax: 4,
  refusals: 0,
  dueAt: null,
  backing: null,
  acceptedAt: at(0),
  startedAt: null,
  updatedAt: at(0),
  endedAt: null,
  ...change,
});

const told = (change: Partial<OperationLife>, now = 10_000) =>
  pacedSteps(operationSteps(life(change)), START + now).map(({ key, afterMs, isNow }) => [
    key,
    afterMs,
    ...(isNow ? ['now'] : []),
  ]);

it('tells what has happened and where it is now, with the time between', () => {
  expect(told({})).toEqual([
    ['accepted', null],
    ['waits', 10_000, 'now'],
  ]);
  const running = { state: 'IN_PROGRESS', attempts: 1, startedAt: at(20) } as const;
  expect(told(running, 520)).toEqual([
    ['accepted', null],
    ['started', 20],
    ['runs', 500, 'now'],
  ]);
  expect(told({ ...running, state: 'COMPLETED', endedAt: at(900), outcome: { type: 'Ok' } })).toEqual([
    ['accepted', null],
    ['started', 20],
    ['ended', 880],
  ]);
});

it('says what an operation that waits for another try waits for, and until when', () => {
  const steps = operationSteps(
    life({
      state: 'IN_PROGRESS',
      attempts: 2,
      refusals: 1,
      startedAt: at(20),
      updatedAt: at(300),
      dueAt: at(1_300),
      outcome: { type: 'Retry', reason: 'the bank is closed', attemptCount: 2, nextRetryAfterMs: 1_000 },
    }),
  );
  expect(steps.map(({ title }) => title)).toEqual([
    'Accepted',
    'First try began',
    '2 of 4 tries begun, refused 1 time before a try began',
    'Waits for another try',
  ]);
  expect(steps.at(-1)).toMatchObject({
    at: at(300),
    until: at(1_300),
    note: 'the bank is closed',
    tone: 'hold',
  });
});

it('knows when work was handed over only until that work has ended', () => {
  const backed = { attempts: 1, startedAt: at(20), backing: { kind: 'bulk', ref: 'g' } } as const;
  const open = operationSteps(life({ ...backed, state: 'IN_PROGRESS', updatedAt: at(40) }));
  expect(open.map(({ key, at: when }) => [key, when])).toEqual([
    ['accepted', at(0)],
    ['started', at(20)],
    ['work', at(40)],
    ['runs', null],
  ]);
  const ended = operationSteps(
    life({ ...backed, state: 'COMPLETED', updatedAt: at(900), endedAt: at(900), outcome: { type: 'Ok' } }),
  );
  expect(ended.find(({ key }) => key === 'work')?.at).toBeNull();
  expect(ended.at(-1)).toMatchObject({ key: 'ended', title: 'Completed', tone: 'ok', at: at(900) });
});

it('does not call a failure what somebody has cancelled', () => {
  const cancelled = { type: 'Fail', errorCode: 'CANCELLED', message: 'cancelled' } as const;
  expect(shownState({ state: 'FAILED', outcome: cancelled })).toBe('CANCELLED');
  expect(shownState({ state: 'FAILED', outcome: { ...cancelled, errorCode: 'NO_MONEY' } })).toBe('FAILED');
  expect(shownState({ state: 'IN_PROGRESS', outcome: null })).toBe('IN_PROGRESS');
  const steps = operationSteps(life({ state: 'FAILED', endedAt: at(5), outcome: cancelled }));
  expect(steps.at(-1)).toMatchObject({ title: 'Cancelled', tone: 'wait' });
});

it('says in a line what came of it', () => {
  expect(outcomeText({ type: 'Ok' })).toBe('Done');
  expect(outcomeText({ type: 'Ok', message: 'sent', data: 1 })).toBe('sent');
  expect(outcomeText({ type: 'Ok', data: { a: 1 } })).toBe('{"a":1}');
  expect(outcomeText({ type: 'Ok', data: 'x'.repeat(500) })).toHaveLength(121);
  expect(outcomeText({ type: 'Fail', errorCode: 'NO_MONEY', message: 'none left' })).toBe(
    'NO_MONEY: none left',
  );
});
