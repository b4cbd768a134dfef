import { ManualClock } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryOperationStore } from '../../src/memory/store.js';
import type { OperationStore } from '../../src/ports.js';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { holdTime, inSchema, openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';
import { WANTED } from './commands.js';
import { compareStores, type Side, TIME_BEGINS } from './compare.js';

/** One seed to look at again, or how many to try. */
const { MILLRACE_DIFF_SEED, MILLRACE_DIFF_SEEDS = '100' } = process.env;
const SEEDS = MILLRACE_DIFF_SEED
  ? [MILLRACE_DIFF_SEED]
  : Array.from({ length: Number(MILLRACE_DIFF_SEEDS) }, (_, n) => String(n + 1));

function memorySide(wrap = (store: OperationStore): OperationStore => store): Side {
  const clock = new ManualClock({ now: TIME_BEGINS });
  return {
    store: wrap(new MemoryOperationStore({ clock })),
    setTime: (now) => clock.jump(now - clock.now()),
  };
}

describe('orchestrator NFR-2: memory against PostgreSQL', () => {
  let opened: StoreDatabase;
  let setTime: (now: number) => Promise<void>;
  let store: PostgresOperationStore;

  beforeAll(async () => {
    // A server: on it a call takes a fraction of what PGlite needs, and the statements are the same.
    opened = await openDatabase('postgres');
    setTime = await holdTime(opened.database, TIME_BEGINS);
    store = new PostgresOperationStore({ database: opened.database, schema: SCHEMA });
  }, 60_000);
  afterAll(() => opened.close());

  it(
    'orchestrator NFR-2: the same calls get the same answers, and every kind of answer occurs',
    async () => {
      const counts = new Map<string, number>();
      const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1);
      for (const seed of SEEDS) {
        await opened.database.query(inSchema('DELETE FROM {schema}.operation'));
        await setTime(TIME_BEGINS);
        expect(await compareStores(seed, [memorySide(), { store, setTime }], count)).toBeUndefined();
      }
      if (SEEDS.length < 50) return;
      const never = WANTED.filter((kind) => !counts.has(kind));
      const occurred = [...counts].map(([kind, times]) => `${kind} ${times}`).sort();
      expect(never, `never reached; what occurred:\n${occurred.join('\n')}`).toEqual([]);
    },
    120_000 + SEEDS.length * 2_000,
  );
});

/** Mistakes that the comparison has to notice; each of them in one place. */
const MUTANTS: Readonly<Record<string, (store: OperationStore) => OperationStore>> = {
  'a fence that lets an old owner through': (store) => ({
    ...parts(store),
    runs: methods(store.runs, {
      settle: async (ref, settlement) => {
        const answer = await store.runs.settle(ref, settlement);
        if (answer.kind === 'settled' || !answer.operation?.owner) return answer;
        return store.runs.settle({ ...ref, token: ref.token + 1 }, settlement);
      },
    }),
  }),
  'a reaper that gives a lost try back': (store) => ({
    ...parts(store),
    repairs: methods(store.repairs, {
      reap: async (limit) =>
        (await store.repairs.reap(limit)).map((one) => ({
          ...one,
          operation: { ...one.operation, attempts: one.operation.attempts - 1 },
        })),
    }),
  }),
  'a cancellation that forgets the backing': (store) => ({
    ...parts(store),
    repairs: methods(store.repairs, {
      cancel: async (opId, outcome) => {
        await store.repairs.cancel(opId, outcome);
        await store.repairs.finalize(opId);
        return store.repairs.cancel(opId, outcome);
      },
    }),
  }),
};

const parts = ({ runs, repairs, views, notices, start, stop }: OperationStore): OperationStore => ({
  runs,
  repairs,
  views,
  notices,
  start,
  stop,
});

/** The same methods, but for some. */
function methods<T extends object>(target: T, changed: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value = Reflect.get(name in changed ? changed : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('orchestrator NFR-2: the comparison itself', () => {
  it('orchestrator NFR-2: finds no difference between a store and itself', async () => {
    for (const seed of ['a', 'b', 'c'])
      expect(await compareStores(seed, [memorySide(), memorySide()], () => {})).toBeUndefined();
  });

  it.each(Object.entries(MUTANTS))('orchestrator NFR-2: notices %s', async (_, mutate) => {
    const differences = [];
    for (let seed = 1; seed <= 30; seed++)
      differences.push(await compareStores(`${seed}`, [memorySide(), memorySide(mutate)], () => {}));
    expect(differences.filter((one) => one?.includes('the stores differ'))).not.toEqual([]);
  });
});
