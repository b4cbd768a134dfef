import { describe, expect, it } from 'vitest';
import { HandedOver, RecentMap } from '../src/handed-over.js';
import { OpId, Outcome } from '../src/index.js';

const opIdOf = (number: number) => OpId.of(`01980000-0000-7000-8000-${String(number).padStart(12, '0')}`);

describe('HandedOver', () => {
  it('orchestrator FR-4: listens to the other part only while somebody wants to hear of ends', () => {
    const calls: string[] = [];
    const handedOver = new HandedOver(() => {
      calls.push('subscribed');
      return () => void calls.push('unsubscribed');
    });
    handedOver.remember(opIdOf(1), 'unheard');
    expect(handedOver.take(opIdOf(1), 'unheard')).toBeUndefined();
    const told: unknown[] = [];
    const [first, second] = [1, 2].map((who) =>
      handedOver.listen((opId, outcome) => void told.push([who, opId, outcome])),
    );
    handedOver.remember(opIdOf(2), 'acme/group');
    handedOver.tell(opIdOf(2), Outcome.ok(1));
    expect(told).toEqual([1, 2].map((who) => [who, opIdOf(2), { type: 'Ok', data: 1 }]));
    first?.();
    expect(calls).toEqual(['subscribed']);
    second?.();
    expect(calls).toEqual(['subscribed', 'unsubscribed']);
    expect(handedOver.take(opIdOf(2), 'acme/group')).toBeUndefined();
  });

  it("orchestrator NFR-2: work of another name is nobody's, and every end is told once", () => {
    const handedOver = new HandedOver(() => () => {});
    handedOver.listen(() => {});
    handedOver.remember(opIdOf(1), 'acme/one');
    expect(handedOver.take(opIdOf(1), 'mallory/one')).toBeUndefined();
    expect(handedOver.take('__proto__', 'acme/one')).toBeUndefined();
    expect(handedOver.take(opIdOf(1), 'acme/one')).toBe(opIdOf(1));
    expect(handedOver.take(opIdOf(1), 'acme/one')).toBeUndefined();
    handedOver.remember(opIdOf(1), 'acme/one');
    handedOver.forget(opIdOf(1));
    expect(handedOver.take(opIdOf(1), 'acme/one')).toBeUndefined();
  });
});

it('orchestrator NFR-2: a RecentMap forgets what was set longest ago', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
