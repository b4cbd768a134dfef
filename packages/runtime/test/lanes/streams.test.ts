import { getEventListeners } from 'node:events';
import { ManualClock } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import type { TaskManagerConfig } from '../../src/lanes/options.js';
import type { TaskContext } from '../../src/lanes/run-handler.js';
import { TaskStream } from '../../src/lanes/task-stream.js';
import { brief, collect, startManager } from './tools.js';

leakCheck();

/** A task that writes a, b, c … as fast as it is let; `written` counts. */
async function alphabet(length: number, config: TaskManagerConfig = {}) {
  const progress = { written: 0 };
  const manager = await startManager<null, void>(async (_, { emit }) => {
    for (let n = 0; n < length; n++) {
      await emit(String.fromCharCode(97 + n));
      progress.written++;
    }
  }, config);
  const { id } = await manager.tasks.enqueue({ key: 'k', input: null });
  return { ...manager, id, progress };
}

/** Runs one handler and gives all its events. */
async function eventsOf(
  handler: (input: null, context: TaskContext) => unknown,
  config: TaskManagerConfig = {},
) {
  const { tasks, settle } = await startManager<null, unknown>(handler as never, config);
  const { id } = await tasks.enqueue({ key: 'k', input: null });
  await settle();
  return { events: brief(await collect(tasks.stream(id))), tasks, id };
}

describe('runtime RT-6: what handlers write', () => {
  it('runtime RT-6: a generator yields tokens and returns a value', async () => {
    const { events, tasks, id } = await eventsOf(async function* () {
      yield 'Hel';
      yield '';
      yield 'lo';
      return 42;
    });
    expect(events).toBe('0:start 1:Hel 2:lo 3:done');
    expect(tasks.result(id)).toMatchObject({ text: 'Hello', value: 42 });
  });

  it('runtime RT-6: a handler that streams nothing but returns content gives one chunk', async () => {
    expect((await eventsOf(async () => 'all at once')).events).toBe('0:start 1:all at once 2:done');
    expect((await eventsOf(() => 'not even a promise')).events).toBe('0:start 1:not even a promise 2:done');
    expect((await eventsOf(async () => '')).events).toBe('0:start 1:done');
    const streamed = await eventsOf(async (_, { emit }) => {
      await emit('streamed');
      return 'returned';
    });
    expect(streamed.events).toBe('0:start 1:streamed 2:done');
    expect(streamed.tasks.result(streamed.id)).toMatchObject({ text: 'streamed', value: 'returned' });
  });

  it('runtime RT-6: any async iterable will do, also behind a promise', async () => {
    const { events } = await eventsOf(async () =>
      new Blob(['x']).stream().pipeThrough(new TextDecoderStream()),
    );
    expect(events).toBe('0:start 1:x 2:done');
  });

  it('runtime RT-6: STREAMING starts at the first chunk that is not empty', async () => {
    const { tasks, clock } = await startManager<null, void>(async function* () {
      for (const chunk of ['', 'x']) {
        await new Promise<void>((resolve) => clock.setTimer(10, resolve));
        yield chunk;
      }
      await new Promise<void>((resolve) => clock.setTimer(10, resolve));
    });
    const { id } = await tasks.enqueue({ key: 'k', input: null });
    const seen = [];
    for (let step = 0; step < 4; step++) {
      await clock.advance(step === 0 ? 0 : 10);
      seen.push(tasks.status(id).status);
    }
    expect(seen).toEqual(['RUNNING', 'RUNNING', 'STREAMING', 'COMPLETED']);
  });

  it('runtime RT-6: writes that are not awaited keep their order and come before the end', async () => {
    const { events } = await eventsOf(async (_, { emit }) => {
      for (const letter of 'abcdef') void emit(letter);
    });
    expect(events).toBe('0:start 1:a 2:b 3:c 4:d 5:e 6:f 7:done');
    const failed = await eventsOf(async (_, { emit }) => {
      void emit('before');
      throw Object.assign(new Error('then it broke'), { code: 'BROKEN' });
    });
    expect(failed.events).toBe('0:start 1:before 2!BROKEN');
  });

  it('runtime RT-6: writes that are not awaited wait for a slow reader in order, and the end waits for them', async () => {
    for (const fails of [false, true]) {
      const { tasks, settle } = await startManager<null, void>(
        async (_, { emit }) => {
          for (const letter of 'abcdef') void emit(letter);
          if (fails) throw new Error('after all was written');
        },
        { streamMaxChunks: 2 },
      );
      const { id } = await tasks.enqueue({ key: 'k', input: null });
      const reader = tasks.stream(id);
      await reader.next();
      await settle();
      expect(tasks.status(id).status).toBe('STREAMING');
      const end = fails ? '7!HANDLER_FAILED' : '7:done';
      expect(brief(await collect(reader))).toBe(`1:a 2:b 3:c 4:d 5:e 6:f ${end}`);
    }
  });

  it('runtime RT-6: a write never overtakes one that waits, not even in the turn in which room appears', async () => {
    const stream = new TaskStream(
      't',
      { streamMaxChunks: 1, streamStallMs: 1000, textCharactersMax: 0 },
      new ManualClock(),
      () => {},
    );
    stream.begin();
    const reader = stream.reader(0);
    await reader.next();
    const writes = [stream.write('a'), stream.write('b')];
    const read = reader.next();
    writes.push(stream.write('c'));
    const rest = collect(reader);
    await Promise.all(writes);
    stream.end({ type: 'done' });
    expect((await read).value).toMatchObject({ offset: 1, text: 'a' });
    expect(brief(await rest)).toBe('2:b 3:c 4:done');
  });

  it('runtime RT-6: what is no text fails the task, and the generator is closed', async () => {
    const log: string[] = [];
    const { events } = await eventsOf(async function* () {
      try {
        yield 'x';
        yield 5;
      } finally {
        log.push('closed');
      }
    });
    expect(events).toBe('0:start 1:x 2!HANDLER_FAILED');
    expect(log).toEqual(['closed']);
  });

  it('runtime RT-6: a text longer than textCharactersMax fails the task with its code', async () => {
    const endless = async function* () {
      for (;;) yield 'xxxx';
    };
    const { events } = await eventsOf(endless, { textCharactersMax: 9 });
    expect(events).toBe('0:start 1:xxxx 2:xxxx 3!TASK_OUTPUT_TOO_LARGE');
  });

  it('runtime RT-6: hostile throws become error events', async () => {
    const throwing = (thrown: unknown) =>
      eventsOf(async () => {
        throw thrown;
      });
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const thrown of [undefined, null, 'text', circular]) {
      expect((await throwing(thrown)).events).toBe('0:start 1!HANDLER_FAILED');
    }
  });
});

describe('runtime RT-6: readers', () => {
  it('runtime RT-6: several readers read while the task runs; a reader that reconnects resumes', async () => {
    const { tasks, settle, id } = await alphabet(4);
    const live = [collect(tasks.stream(id)), collect(tasks.stream(id))];
    await settle();
    for (const events of await Promise.all(live))
      expect(brief(events)).toBe('0:start 1:a 2:b 3:c 4:d 5:done');
    expect(brief(await collect(tasks.stream(id, { fromOffset: 3 })))).toBe('3:c 4:d 5:done');
    expect(brief(await collect(tasks.stream(id, { fromOffset: 5 })))).toBe('5:done');
    expect(await collect(tasks.stream(id, { fromOffset: 6 }))).toEqual([]);
    for (const fromOffset of [-1, 1.5, Number.NaN]) {
      expect(() => tasks.stream(id, { fromOffset })).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      );
    }
  });

  it('runtime RT-6: with no reader the producer goes on; a late reader gets the text so far as one snapshot', async () => {
    const { tasks, settle, id, progress } = await alphabet(10, { streamMaxChunks: 4 });
    await settle();
    expect(progress.written).toBe(10);
    expect(brief(await collect(tasks.stream(id)))).toBe('0:start 10*:abcdefghij 11:done');
    expect(brief(await collect(tasks.stream(id, { fromOffset: 7 })))).toBe('7:g 8:h 9:i 10:j 11:done');
    expect(tasks.result(id).text).toBe('abcdefghij');
  });

  it('runtime RT-6: a slow attached reader slows the producer and loses nothing', async () => {
    const { tasks, clock, settle, id, progress } = await alphabet(10, { streamMaxChunks: 2 });
    const reader = tasks.stream(id);
    const events = [];
    for (let read = 0; read < 12; read++) {
      const { value } = await reader.next();
      if (value) events.push(value);
      await settle();
      expect(progress.written).toBeLessThanOrEqual(read + 2);
      await clock.advance(4000);
    }
    expect(brief(events)).toBe('0:start 1:a 2:b 3:c 4:d 5:e 6:f 7:g 8:h 9:i 10:j 11:done');
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it('runtime RT-6: a reader stalled past streamStallMs no longer holds; it finds a snapshot and goes on', async () => {
    const { tasks, clock, settle, id, progress } = await alphabet(10, { streamMaxChunks: 2 });
    const reader = tasks.stream(id);
    await reader.next();
    await clock.advance(4999);
    expect(progress.written).toBe(2);
    await clock.advance(1);
    expect(progress.written).toBe(10);
    expect(tasks.status(id).status).toBe('COMPLETED');
    expect(brief(await collect(reader))).toBe('10*:abcdefghij 11:done');
    await settle();
    expect(clock.nextTimerAt).toBeGreaterThan(clock.monotonicMs());
  });

  it('runtime RT-6: after a stall a reader that reads again counts again', async () => {
    const gate: (() => void)[] = [];
    const { tasks, clock, settle } = await startManager<null, void>(
      async (_, { emit }) => {
        for (const letter of 'abcd') await emit(letter);
        await new Promise<void>((resolve) => gate.push(resolve));
        for (const letter of 'efgh') await emit(letter);
      },
      { streamMaxChunks: 2 },
    );
    const { id } = await tasks.enqueue({ key: 'k', input: null });
    const reader = tasks.stream(id);
    await reader.next();
    await clock.advance(5000);
    expect((await reader.next()).value).toMatchObject({ offset: 4, text: 'abcd', snapshot: true });
    gate[0]?.();
    await settle();
    expect(tasks.status(id).status).toBe('STREAMING');
    expect(brief(await collect(reader))).toBe('5:e 6:f 7:g 8:h 9:done');
  });

  it('runtime RT-6: the slowest of several readers counts', async () => {
    const { tasks, clock, id, progress } = await alphabet(10, { streamMaxChunks: 3 });
    const slow = tasks.stream(id);
    await slow.next();
    const quick = collect(tasks.stream(id));
    await clock.advance(4000);
    expect(progress.written).toBe(3);
    await clock.advance(1000);
    expect(brief(await quick)).toBe('0:start 1:a 2:b 3:c 4:d 5:e 6:f 7:g 8:h 9:i 10:j 11:done');
    expect(brief(await collect(slow))).toBe('10*:abcdefghij 11:done');
  });

  it('runtime RT-6: return() and a signal let go at once, also in the middle of a wait', async () => {
    const { tasks, settle, id, progress } = await alphabet(10, { streamMaxChunks: 2 });
    const leaving = tasks.stream(id);
    const control = new AbortController();
    const aborted = tasks.stream(id, { signal: control.signal });
    await Promise.all([leaving.next(), aborted.next()]);
    await settle();
    expect(progress.written).toBe(2);
    await leaving.return?.();
    await settle();
    expect(progress.written).toBe(2);
    control.abort(new Error('gone'));
    await settle();
    expect(progress.written).toBe(10);
    await expect(aborted.next()).rejects.toMatchObject({ code: 'ABORTED', cause: new Error('gone') });
    expect(await aborted.next()).toEqual({ done: true, value: undefined });
    expect(await leaving.next()).toEqual({ done: true, value: undefined });
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0);
  });

  it('runtime RT-6: a reader that waits for news ends at once by return() or its signal', async () => {
    const { tasks, settle } = await startManager<null, void>(() => new Promise<void>(() => {}), {
      stopGraceMs: 0,
    });
    const { id } = await tasks.enqueue({ key: 'k', input: null });
    await settle();
    const leaving = tasks.stream(id, { fromOffset: 1 });
    const pending = [leaving.next(), leaving.next()];
    await leaving.return?.();
    expect(await Promise.all(pending)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
    const control = new AbortController();
    const waiting = tasks.stream(id, { fromOffset: 1, signal: control.signal }).next();
    control.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(tasks.stream(id, { signal: control.signal }).next()).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });

  it('runtime RT-6: reads asked for together are served in order; one beyond the end gets done', async () => {
    const { tasks, settle, id } = await alphabet(2);
    const reader = tasks.stream(id);
    const asked = Array.from({ length: 6 }, () => reader.next());
    const far = collect(tasks.stream(id, { fromOffset: 50 }));
    await settle();
    const values = (await Promise.all(asked)).map(({ value }) => value);
    expect(brief(values.filter((value) => value !== undefined))).toBe('0:start 1:a 2:b 3:done');
    expect(values.slice(4)).toEqual([undefined, undefined]);
    expect(await far).toEqual([]);
  });

  it('runtime RT-6: a stream that is asked for and never read holds nobody back', async () => {
    const { tasks, settle, id, progress } = await alphabet(10, { streamMaxChunks: 2 });
    tasks.stream(id);
    await settle();
    expect(progress.written).toBe(10);
  });

  it('runtime RT-6: cancel frees a producer that waits for a reader, and ends the reader', async () => {
    const { tasks, clock, settle, id, progress } = await alphabet(10, { streamMaxChunks: 2 });
    const reader = tasks.stream(id);
    await reader.next();
    await settle();
    tasks.cancel(id);
    await settle();
    expect(progress.written).toBe(2);
    expect(tasks.stats.active).toBe(0);
    expect(brief(await collect(reader))).toBe('1:a 2:b 3!TASK_CANCELLED');
    // Only the worker's look into its queue and the clean-up are left.
    await clock.advance(0);
    expect(tasks.status(id).status).toBe('CANCELLED');
  });
});
