import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { HandedOver, RecentMap } from '../src/handed-over.js';
import { OpId, Outcome } from '../src/index.js';

const opIdOf = (number: number) => OpId.of(`01980000-0000-7000-8000-${String(number).padStart(12, '0')}`);

describe('HandedOver', () => {
  it('orchestrator FR-4: listens to the other part only while it has listeners', () => {
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

  it('orchestrator NFR-2: ignores work of another name, and reports each end once', () => {
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

it('orchestrator NFR-2: a RecentMap drops the entry set longest ago, whatever was set again, deleted or cleared', () => {
  const rng = seededRng('recent');
  const map = new RecentMap<number, number>(5);
  let model: number[] = [];
  for (let turn = 0; turn < 5_000; turn++) {
    const key = rng.integer(0, 12);
    const kept = model.filter((other) => other !== key);
    if (rng.chance(0.7)) {
      map.set(key, turn);
      model = [...kept, key].slice(-5);
    } else if (rng.chance(0.95)) {
      map.delete(key);
      model = kept;
    } else {
      map.clear();
      model = [];
    }
    expect([...map.keys()]).toEqual(model);
  }
});
