import { describe, expect, it } from 'vitest';
import { positionAt, Stage } from './stage.js';

const DONE = { kind: 'done' };
const PAUSE = { kind: 'pause-group', groupId: 'x/g', isPaused: true } as const;
const CANCEL = { kind: 'cancel-group', groupId: 'x/g' } as const;

function delivered(jobs = 2, settings = {}): Stage {
  const stage = new Stage();
  stage.instance('a', jobs);
  stage.submit('x/g', jobs, { settings });
  stage.run();
  return stage;
}

describe('a pause or cancel', () => {
  it('is answered when an instance has answered its recall', () => {
    const stage = delivered();
    expect(stage.ask(PAUSE)).toBeUndefined();
    const targets = [0, 1].map((at) => ({ groupId: 'x/g', position: positionAt(at) }));
    expect(stage.mail.get('a')).toMatchObject([{ kind: 'recall', targets }]);
    const [first, second] = stage.held;
    stage.answerRecall('a', [second as never], [first as never]);
    expect(stage.answer()).toEqual(DONE);
    expect(stage.group('x/g')).toMatchObject({ pending: 1, held: 1 });
    stage.takeOver();
    expect(stage.group('x/g').front).toMatchObject([{ position: positionAt(1), attempt: 0 }]);
  });

  it('is answered at once if all deliveries were reported as started', () => {
    const stage = delivered();
    stage.receive({ kind: 'started', instanceId: 'a', jobs: stage.held });
    expect(stage.ask(PAUSE)).toEqual(DONE);
    expect(stage.settle()).toBe(2);
  });

  it('is answered when the instance has died', () => {
    const stage = delivered();
    expect(stage.ask(CANCEL)).toBeUndefined();
    expect(stage.group('x/g').status).toBe('CANCELLED');
    stage.engine.buried(['a'], stage.nowUs);
    stage.run();
    expect(stage.answer()).toEqual(DONE);
  });

  it('of a tenant or of everything recalls the jobs of all groups', () => {
    const stage = new Stage();
    stage.instance('a', 3);
    for (const id of ['x/g', 'x/h', 'y/g']) stage.submit(id, 1);
    stage.run();
    expect(stage.ask({ kind: 'pause-tenant', tenantId: 'x', isPaused: true })).toBeUndefined();
    const targetsOf = (at: number) => {
      const recall = stage.mail.get('a')?.[at];
      return recall?.kind === 'recall' && recall.targets.map(({ groupId }) => groupId);
    };
    expect(targetsOf(0)).toEqual(['x/g', 'x/h']);
    const of = (id: string) => stage.held.filter(({ groupId }) => groupId === id);
    stage.answerRecall('a', of('x/g'), of('x/h'));
    expect(stage.answer()).toEqual(DONE);
    expect(stage.ask({ kind: 'pause-all', isPaused: true })).toBeUndefined();
    expect(targetsOf(1)).toEqual(['y/g']);
  });

  it('waits for every instance', () => {
    const stage = new Stage();
    stage.instance('a', 1);
    stage.instance('c', 1);
    stage.submit('x/g', 2);
    stage.run();
    stage.ask(CANCEL);
    const of = (id: string) => stage.held.filter(({ instanceId }) => instanceId === id);
    stage.answerRecall('a', of('a'));
    expect(stage.answer()).toBeUndefined();
    stage.answerRecall('c', of('c'));
    expect(stage.answer()).toEqual(DONE);
    expect(stage.engine.state.shard.held).toBe(0);
  });

  it('does not take an answer for that of another recall', () => {
    const stage = delivered();
    stage.ask(PAUSE);
    const recall = stage.mail.get('a')?.[0];
    const number = recall?.kind === 'recall' ? recall.number : 0;
    for (const [instanceId, other] of [['a', number + 1] as const, ['c', number] as const])
      stage.receive({ kind: 'recalled', instanceId, number: other, returned: [], launched: [] });
    stage.run();
    expect(stage.answer()).toBeUndefined();
    stage.takeOver();
    stage.instance('a', 2);
    stage.ask(PAUSE, 1);
    stage.receive({ kind: 'recalled', instanceId: 'a', number, returned: [], launched: [] });
    stage.run();
    expect(stage.answer()).toBeUndefined();
  });

  it('is recalled again by the next owner before it answers the repeat', () => {
    const stage = delivered();
    for (const [nonce, command] of [[1, PAUSE] as const, [2, CANCEL] as const]) {
      expect(stage.ask(command, nonce)).toBeUndefined();
      stage.takeOver();
      stage.instance('a', 2);
      stage.mail.clear();
      expect(stage.ask(command, nonce)).toBeUndefined();
      expect(stage.mail.get('a')).toMatchObject([{ kind: 'recall' }]);
      stage.answerRecall('a', []);
      expect(stage.answer(nonce)).toEqual(DONE);
    }
  });

  it('keeps jobs of an unanswered commit from launching on the own instance', () => {
    const stage = new Stage({}, 'own');
    stage.instance('own', 3);
    stage.submit('x/g', 3);
    const [first, second, third] = stage.run() as [never, never, never];
    expect(stage.engine.launch(first)).toBe(true);
    expect(stage.engine.launch(first)).toBe(false);
    expect(stage.ask(PAUSE)).toEqual(DONE);
    expect([stage.engine.launch(second), stage.engine.launch(third)]).toEqual([false, false]);
    expect(stage.group('x/g')).toMatchObject({ pending: 2, held: 1 });
    stage.held = [];
    const again = stage.run.bind(stage);
    stage.ask({ ...PAUSE, isPaused: false });
    expect(stage.held.map(({ position, attempt }) => [position, attempt])).toEqual([
      [positionAt(1), 1],
      [positionAt(2), 1],
    ]);
    expect(stage.engine.launch(second)).toBe(true);
    expect(stage.ask(CANCEL)).toEqual(DONE);
    expect(stage.engine.launch(third)).toBe(false);
    expect(stage.engine.state.shard.held).toBe(2);
    expect(again()).toEqual([]);
    expect(stage.mail.get('own')?.map(({ kind }) => kind)).toEqual(['abort', 'abort']);
  });
});

describe('a returned job', () => {
  it('leaves attempt, tokens, charge and count of served cost as they were', () => {
    const stage = delivered(3, { rps: 1, burst: 3 });
    const { tag, rate } = stage.group('x/g');
    const facts = () => [tag.live, tag.stored, rate?.tatUs, stage.engine.state.tenants.get('x')?.served];
    stage.settle(stage.held.slice(0, 1));
    stage.receive({ kind: 'started', instanceId: 'a', jobs: stage.held.slice(0, 1) });
    stage.ask(PAUSE);
    stage.answerRecall('a', stage.held.slice(1));
    expect(facts()).toEqual([0.5, 0.5, stage.nowUs + 2_000_000, 2]);
    stage.takeOver();
    stage.instance('a', 3);
    stage.held = [];
    stage.ask({ ...PAUSE, isPaused: false });
    expect(stage.held).toMatchObject([{ position: positionAt(2), attempt: 1 }]);
  });

  it('moves its group back in the fair order', () => {
    const stage = new Stage();
    stage.instance('a', 2);
    stage.submit('x/g', 5);
    const [first] = stage.run();
    expect(stage.group('x/g').start).toBe(0.5);
    if (first)
      stage.engine.settle('a', { ...first, durationMs: 9, outcome: { kind: 'returned' } }, stage.nowUs);
    expect(stage.group('x/g').start).toBe(0.25);
  });

  it('returns no token that has come back since', () => {
    const stage = delivered(1, { rps: 1, burst: 1 });
    stage.nowUs += 5_000_000;
    stage.instance('a', 2);
    stage.submit('x/g', 1);
    stage.run();
    expect(stage.held).toHaveLength(2);
    const before = stage.group('x/g').rate?.tatUs;
    stage.ask(PAUSE);
    stage.answerRecall('a', stage.held.slice(0, 1));
    expect(stage.group('x/g').rate?.tatUs).toBe(before);
  });
});

describe('a greeting', () => {
  it('brings again what the instance does not hold, and aborts what is not in flight there', () => {
    const stage = delivered(3);
    const [first, second, third] = stage.held;
    stage.ask({ kind: 'cancel-job', groupId: 'x/g', position: positionAt(2) });
    stage.run();
    stage.takeOver();
    stage.mail.clear();
    stage.held = [];
    const jobs = [
      { ...first, isLaunched: true },
      { ...third, isLaunched: true },
    ] as never;
    stage.receive({ kind: 'greeting', id: 'a', slots: 3, types: ['T'], jobs });
    expect(stage.run()).toMatchObject([{ instanceId: 'a', position: second?.position, attempt: 1 }]);
    expect(stage.mail.get('a')).toMatchObject([{ kind: 'abort', position: third?.position }]);
    // Only the one that was delivered again may be unlaunched.
    stage.ask(PAUSE);
    const targets = [{ groupId: 'x/g', position: second?.position }];
    expect(stage.mail.get('a')?.at(-1)).toMatchObject({ kind: 'recall', targets });
  });

  it('frees slots of attempts that ended with their round', () => {
    const stage = delivered();
    stage.ask(CANCEL);
    stage.submit('x/h', 2);
    expect(stage.run()).toEqual([]);
    stage.receive({ kind: 'greeting', id: 'a', slots: 2, types: ['T'], jobs: [] });
    expect(stage.run()).toHaveLength(2);
  });
});
