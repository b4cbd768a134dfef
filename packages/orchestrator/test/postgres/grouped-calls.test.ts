import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';
import { type Latch, latch, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { GroupedCalls } from '../../src/postgres/grouped-calls.js';

interface Item {
  readonly id: number;
  readonly key?: string;
  readonly bytes?: number;
}

/** Groups as they were sent; each is answered when the test says so. */
function openCalls(answer: (items: readonly Item[]) => Promise<readonly string[]>) {
  const sent: number[][] = [];
  const calls = new GroupedCalls<Item, string>({
    operation: 'test',
    send: (items) => {
      sent.push(items.map(({ id }) => id));
      return answer(items);
    },
    keyOf: ({ id, key }) => key ?? `${id}`,
    bytesOf: ({ bytes = 1 }) => bytes,
  });
  const add = (item: Item) => calls.add(item).answer;
  return { calls, sent, add };
}

const echo = async (items: readonly Item[]) => items.map(({ id }) => `answer ${id}`);
const range = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));

describe('calls that go out together', () => {
  it('orchestrator NFR-1: those of one turn, each with its own answer', async () => {
    const { sent, add } = openCalls(echo);
    expect(await Promise.all(range(3).map(add))).toEqual(['answer 0', 'answer 1', 'answer 2']);
    expect(sent).toEqual([[0, 1, 2]]);
  });

  it('orchestrator NFR-1: at most 100 in a statement, at most two statements under way', async () => {
    const gates: Latch<void>[] = [];
    const { sent, add } = openCalls(async (items) => {
      const gate = latch('the statement is answered');
      gates.push(gate);
      await gate.promise;
      return echo(items);
    });
    const answers = Promise.all(range(350).map(add));
    await until(() => sent.length === 2, { what: 'two statements' });
    await new Promise(setImmediate);
    expect(sent.map(({ length }) => length)).toEqual([100, 100]);
    gates[0]?.open();
    await until(() => sent.length === 3, { what: 'a third statement' });
    for (let at = 1; at < 4; at++) {
      await until(() => gates[at], { what: 'the next statement' });
      gates[at]?.open();
    }
    expect((await answers).at(-1)).toBe('answer 349');
    expect(sent.map(({ length }) => length)).toEqual([100, 100, 100, 50]);
  });

  it('orchestrator NFR-1: large ones travel apart', async () => {
    const { sent, add } = openCalls(echo);
    const large = 3 * 1024 * 1024;
    await Promise.all(range(4).map(({ id }) => add({ id, bytes: large })));
    expect(sent).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('orchestrator NFR-2: two about one operation never share a statement, and keep their order', async () => {
    const { sent, add } = openCalls(echo);
    await Promise.all([add({ id: 1, key: 'a' }), add({ id: 2, key: 'a' }), add({ id: 3, key: 'b' })]);
    expect(sent).toEqual([[1, 3], [2]]);
  });

  it('orchestrator NFR-2: one that is refused does not take its neighbours with it', async () => {
    const { sent, add } = openCalls(async (items) => {
      if (items.some(({ id }) => id === 1)) throw new Error('one is bad');
      return echo(items);
    });
    const answers = await Promise.allSettled(range(3).map(add));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(sent).toEqual([[0, 1, 2], [0], [1], [2]]);
  });

  it('orchestrator NFR-2: a database that is away is told to all of them at once', async () => {
    const away = DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: 'x', reason: 'y' });
    const { sent, add } = openCalls(() => Promise.reject(away));
    const answers = await Promise.allSettled(range(3).map(add));
    expect(answers).toEqual(range(3).map(() => ({ status: 'rejected', reason: away })));
    expect(sent).toHaveLength(1);
  });

  it('orchestrator NFR-2: what is given up before it is sent is not sent', async () => {
    const { calls, sent } = openCalls(echo);
    const first = calls.add({ id: 1 });
    const second = calls.add({ id: 2 });
    first.giveUp();
    expect(await second.answer).toBe('answer 2');
    expect(sent).toEqual([[2]]);
  });

  it('orchestrator NFR-2: a shutdown does not wait for a database that is away, once for every group', async () => {
    const away = DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: 'x', reason: 'y' });
    const { calls, sent, add } = openCalls(() => Promise.reject(away));
    const answers = Promise.allSettled(range(1_000).map(add));
    await calls.drain();
    expect(sent.length).toBeLessThanOrEqual(2);
    expect((await answers).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('orchestrator NFR-2: more than can wait are refused at once', async () => {
    const { calls, add } = openCalls(echo);
    const waiting = range(10_000).map(add);
    await expect(add({ id: -1 })).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    await calls.drain();
    expect(await Promise.all(waiting)).toHaveLength(10_000);
  });
});
