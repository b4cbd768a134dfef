import { type Rng, seededRng } from '@millrace/foundation';
import { ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../src/errors.js';
import { InlineFastPathRunner } from '../src/inline-fast-path-runner.js';
import { MemoryOperationStore } from '../src/memory/store.js';
import type { CommandInput } from '../src/model.js';
import type { OrchestratorOptions } from '../src/options.js';
import type { OperationHandle } from '../src/orchestrator.js';
import { Outcome } from '../src/outcome.js';
import type { Executor } from '../src/ports.js';
import { type Timed, TimedExecutor } from './timed-executor.js';

const commandOf = (bizKey: string, payload: Timed, idemKey?: string): CommandInput => ({
  domain: 'ORDER',
  eventType: 'PLACE',
  bizKey,
  payload,
  ...(idemKey !== undefined && { idemKey }),
});

function world(options: Partial<OrchestratorOptions> & { readonly tells?: boolean } = {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const { tells = true, ...given } = options;
  const executor = new TimedExecutor(clock, { tells });
  const store = new MemoryOperationStore({ clock });
  const runner = new InlineFastPathRunner({
    executor,
    store,
    clock,
    rng: seededRng('runner'),
    logger: log,
    ...given,
  });
  return { clock, lines, executor, store, runner };
}

/** Moves the clock until a call has its answer, one millisecond at a time. */
async function answered<T>(clock: ManualClock, call: Promise<T>): Promise<{ value: T; atMs: number }> {
  let done = false;
  const marked = call.finally(() => {
    done = true;
  });
  marked.catch(() => {});
  await clock.advance(0);
  for (let ms = 0; !done && ms < 10_000; ms++) await clock.advance(1);
  return { value: await marked, atMs: clock.monotonicMs() };
}

describe('InlineFastPathRunner', () => {
  it('orchestrator AC-1: work of 100 ms within a budget of 200 ms is answered with its outcome, when it ends', async () => {
    const { clock, runner } = world();
    const { value, atMs } = await answered(clock, runner.submit(commandOf('b', { ms: 100 }), 200));
    expect(value.completedFast).toBe(true);
    expect(value.responseBodyOrNull).toEqual({ type: 'Ok', data: { bizKey: 'b' } });
    expect(value.statusUrlOrNull).toBeNull();
    expect(atMs).toBe(100);
  });

  it('orchestrator AC-2: work of 500 ms is answered with a status URL at the budget, and goes on to its end', async () => {
    const { clock, runner, store } = world();
    const { value, atMs } = await answered(clock, runner.submit(commandOf('b', { ms: 500 }), 200));
    expect(value.completedFast).toBe(false);
    expect(value.statusUrlOrNull).toBe(`/api/operations/${value.opId}/status`);
    expect(value.responseBodyOrNull).toBeNull();
    expect(atMs).toBe(200);
    expect((await store.views.get(value.opId))?.state).toBe('IN_PROGRESS');
    await clock.advance(300);
    const ended = await store.views.get(value.opId);
    expect(ended?.state).toBe('COMPLETED');
    expect(ended?.outcome).toEqual({ type: 'Ok', data: { bizKey: 'b' } });
  });

  it.each([
    [199, true],
    [200, false],
    [201, false],
  ])('orchestrator AC-3: work that ends after %i of 200 ms: with its outcome: %s', async (ms, isFast) => {
    const { clock, runner } = world();
    const { value, atMs } = await answered(clock, runner.submit(commandOf('b', { ms }), 200));
    expect(value.completedFast).toBe(isFast);
    expect(atMs).toBe(Math.min(ms, 200));
  });

  it('orchestrator AC-4: ten at once have ids of their own and their own outcomes', async () => {
    const { clock, runner } = world();
    const calls = Array.from({ length: 10 }, (_, index) =>
      runner.submit(commandOf(`b${index}`, { ms: 10 + index }), 200),
    );
    const { value: handles } = await answered(clock, Promise.all(calls));
    expect(new Set(handles.map(({ opId }) => opId)).size).toBe(10);
    expect(handles.map(({ responseBodyOrNull }) => responseBodyOrNull)).toEqual(
      handles.map((_, index) => ({ type: 'Ok', data: { bizKey: `b${index}` } })),
    );
  });

  it('orchestrator FR-1: of 1,000 at once each gets its own outcome or its own status URL', async () => {
    const { clock, runner, store } = world();
    const durations = Array.from({ length: 1_000 }, (_, index) => (index * 7) % 400);
    const calls = durations.map((ms, index) => runner.submit(commandOf(`b${index}`, { ms }), 200));
    const { value: handles } = await answered(clock, Promise.all(calls));
    await clock.advance(400);
    expect(new Set(handles.map(({ opId }) => opId)).size).toBe(1_000);
    for (const [index, handle] of handles.entries()) {
      const outcome = { type: 'Ok', data: { bizKey: `b${index}` } };
      expect(handle.completedFast).toBe((durations[index] as number) < 200);
      if (handle.completedFast) expect(handle.responseBodyOrNull).toEqual(outcome);
      expect((await store.views.get(handle.opId))?.outcome).toEqual(outcome);
    }
  });

  it('orchestrator FR-3: a budget outside the range is refused before anything is stored', async () => {
    const { runner, executor, store } = world();
    for (const budget of [49, 5_001, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, '200' as never]) {
      const call = runner.submit(commandOf('b', { ms: 1 }), budget);
      await expect(call).rejects.toMatchObject({
        code: 'TIME_BUDGET_OUT_OF_RANGE',
        status: 400,
        message: `timeBudgetMs must be between 50 and 5000 ms (current: ${budget})`,
      });
    }
    expect(executor.started).toEqual([]);
    expect((await store.views.list({}, 10, undefined)).items).toEqual([]);
  });

  it('orchestrator FR-3: without a budget the default counts; the bounds are allowed', async () => {
    const { clock, runner } = world();
    const usual = await answered(clock, runner.submit(commandOf('a', { ms: 6_000 })));
    expect(usual.atMs).toBe(200);
    const shortest = await answered(clock, runner.submit(commandOf('b', { ms: 6_000 }), 50));
    expect(shortest.atMs).toBe(250);
    const longest = await answered(clock, runner.submit(commandOf('c', { ms: 6_000 }), 5_000));
    expect(longest.atMs).toBe(5_250);
  });

  it('orchestrator FR-4: the operation is stored before it runs, so that its status URL works at once', async () => {
    const clock = new ManualClock();
    const store = new MemoryOperationStore({ clock });
    const seen: unknown[] = [];
    const executor: Executor = {
      async execute({ opId }) {
        seen.push((await store.views.get(opId))?.state);
      },
      getState: () => 'IN_PROGRESS',
      getOutcome: () => Outcome.ok(),
    };
    const runner = new InlineFastPathRunner({ executor, store, clock });
    await answered(clock, runner.submit(commandOf('b', { ms: 1 })));
    expect(seen).toEqual(['PENDING']);
  });

  it('orchestrator FR-4: an executor that tells nothing is asked every pollingIntervalMs', async () => {
    const { clock, runner } = world({ tells: false });
    const quick = await answered(clock, runner.submit(commandOf('a', { ms: 95 }), 200));
    expect([quick.value.completedFast, quick.atMs]).toEqual([true, 100]);
    const slow = await answered(clock, runner.submit(commandOf('b', { ms: 300 }), 200));
    expect([slow.value.completedFast, slow.atMs]).toEqual([false, 300]);
  });

  it('orchestrator FR-4: while nothing waits or runs, no timer is set', async () => {
    for (const tells of [true, false]) {
      const { clock, runner } = world({ tells });
      await answered(clock, runner.submit(commandOf('a', { ms: 400 })));
      await clock.advance(1_000);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('orchestrator NFR-2: an executor that throws is a failed operation, not a broken request', async () => {
    const { clock, store, lines } = world();
    for (const execute of [
      () => {
        throw new Error('no room');
      },
      async () => {
        throw new Error('no room');
      },
    ]) {
      const executor: Executor = { execute, getState: () => 'PENDING', getOutcome: () => Outcome.ok() };
      const { log } = recordingLogger();
      const runner = new InlineFastPathRunner({ executor, store, clock, logger: log });
      const { value } = await answered(clock, runner.submit(commandOf('b', { ms: 1 })));
      expect(value.completedFast).toBe(true);
      expect(value.responseBodyOrNull).toMatchObject({ type: 'Fail', errorCode: 'EXECUTOR_FAILED' });
      expect((await store.views.get(value.opId))?.state).toBe('FAILED');
    }
    expect(lines).toEqual([]);
  });

  it('orchestrator NFR-2: a missing executor, store or a polling interval that is not positive is refused', () => {
    const { executor, store } = world();
    const make = (options: object) => () => new InlineFastPathRunner(options as OrchestratorOptions);
    expect(make({ store })).toThrow(/executor must be an Executor/);
    expect(make({ executor })).toThrow(/store must be an OperationStore/);
    for (const pollingIntervalMs of [0, -1, Number.NaN])
      expect(make({ executor, store, pollingIntervalMs })).toThrow(/pollingIntervalMs must be/);
    expect(make({ executor, store, poolingIntervalMs: 1 })).toThrow(/did you mean 'pollingIntervalMs'/);
    expect(make({ executor, store, timeBudget: { defaultMs: 6_000 } })).toThrow(/minMs ≤ defaultMs ≤ maxMs/);
  });

  it('orchestrator FR-1: a bad command is refused with all that is wrong with it, and nothing is stored', async () => {
    const { runner, store } = world();
    const bad = {
      domain: 'order',
      eventType: '',
      bizKey: ' ',
      idemKey: 'x'.repeat(256),
      payload: 1n,
      extra: 1,
    };
    const error = await runner.submit(bad as never).catch((thrown: unknown) => thrown);
    expect(ERRORS.is(error, 'COMMAND_INVALID')).toBe(true);
    const { errors } = (error as { details: { errors: { field: string }[] } }).details;
    expect(errors.map(({ field }) => field).sort()).toEqual(
      ['bizKey', 'domain', 'eventType', 'extra', 'idemKey', 'payload'].sort(),
    );
    expect((await store.views.list({}, 10, undefined)).items).toEqual([]);
  });

  it('orchestrator NFR-4: logs say accepted, fast and converted, and warn of ends near the budget', async () => {
    const { clock, runner, lines } = world();
    await answered(clock, runner.submit(commandOf('quick', { ms: 10 })));
    await answered(clock, runner.submit(commandOf('near', { ms: 190 })));
    await answered(clock, runner.submit(commandOf('late', { ms: 215 })));
    await clock.advance(1_000);
    const told = lines.map(({ level, fields, message }) => `${level} ${fields.bizKey}: ${message}`);
    expect(told).toEqual([
      'info quick: Operation accepted',
      'info quick: Operation answered with its outcome',
      'info near: Operation accepted',
      'warn near: Operation ended about when its time budget did',
      'info near: Operation answered with its outcome',
      'info late: Operation accepted',
      'info late: Operation answered with its status URL',
      'warn late: Operation ended about when its time budget did',
    ]);
    expect(lines[0]?.fields).toMatchObject({ domain: 'ORDER', eventType: 'PLACE', bizKey: 'quick' });
  });

  it('orchestrator NFR-4: an executor that takes long to accept is warned of', async () => {
    const clock = new ManualClock();
    const { log, lines } = recordingLogger();
    const executor: Executor = {
      execute: () => new Promise<void>((resolve) => clock.setTimer(51, resolve)),
      getState: () => 'COMPLETED',
      getOutcome: () => Outcome.ok(),
    };
    const runner = new InlineFastPathRunner({
      executor,
      store: new MemoryOperationStore({ clock }),
      clock,
      logger: log,
    });
    const { value } = await answered(clock, runner.submit(commandOf('b', { ms: 1 })));
    expect(value.completedFast).toBe(true);
    expect(lines.map(({ message }) => message)).toContain('Executor was slow to accept an operation');
  });
});

/** Everything that can be late or early by a random bit. */
function raceOf(rng: Rng) {
  const storeMs = () => rng.integer(0, 3);
  const workMs = 195 + rng.integer(0, 8);
  return { storeMs, workMs };
}

describe('completion against the budget', () => {
  it('orchestrator AC-3: gives one answer, and the right one, for 2,000 seeds with a store that takes its time', async () => {
    const wrong: string[] = [];
    let fast = 0;
    for (let seed = 1; seed <= 2_000; seed++) {
      const rng = seededRng(`race ${seed}`);
      const { storeMs, workMs } = raceOf(rng);
      const clock = new ManualClock();
      const executor = new TimedExecutor(clock);
      const store = slowed(new MemoryOperationStore({ clock }), clock, storeMs);
      const runner = new InlineFastPathRunner({ executor, store: store.store, clock, rng });
      const answers: OperationHandle[] = [];
      void runner.submit(commandOf('b', { ms: workMs }), 200).then((handle) => answers.push(handle));
      await clock.advance(198);
      for (let ms = 0; ms < 12; ms++) await clock.advance(1);
      const [handle] = answers;
      const stored = handle && (await store.store.views.get(handle.opId));
      const settledAt = store.settledAt();
      const shouldBeFast = settledAt !== undefined && settledAt < 200;
      if (answers.length !== 1) wrong.push(`${seed}: ${answers.length} answers`);
      if (handle?.completedFast !== shouldBeFast)
        wrong.push(`${seed}: fast ${handle?.completedFast}, settled at ${settledAt}`);
      if (handle?.completedFast && stored?.state !== 'COMPLETED')
        wrong.push(`${seed}: answered before it was stored`);
      if (handle?.completedFast) fast++;
    }
    expect(wrong).toEqual([]);
    // Both answers were near: the race was one.
    expect(fast).toBeGreaterThan(300);
    expect(fast).toBeLessThan(1_700);
  }, 60_000);
});

/** A memory store whose accept and settle answer a little later. */
function slowed(inner: MemoryOperationStore, clock: ManualClock, ms: () => number) {
  let settledAt: number | undefined;
  const later = <T>(value: T) => new Promise<T>((resolve) => clock.setTimer(ms(), () => resolve(value)));
  const runs = {
    accept: async (...args: Parameters<typeof inner.runs.accept>) => later(await inner.runs.accept(...args)),
    begin: (...args: Parameters<typeof inner.runs.begin>) => inner.runs.begin(...args),
    settle: async (...args: Parameters<typeof inner.runs.settle>) => {
      const answer = await later(await inner.runs.settle(...args));
      settledAt ??= clock.monotonicMs();
      return answer;
    },
    extend: (...args: Parameters<typeof inner.runs.extend>) => inner.runs.extend(...args),
    claim: (...args: Parameters<typeof inner.runs.claim>) => inner.runs.claim(...args),
  };
  const { repairs, views, notices } = inner;
  const store = { runs, repairs, views, notices, start: async () => {}, stop: async () => {} };
  return { store, settledAt: () => settledAt };
}
