import { EventEmitter } from 'node:events';
import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { serveUntilEnd } from '../../src/cli/serve-until-end.js';
import { createLog } from '../../src/log.js';
import type { RunningServer } from '../../src/start-server.js';

const EXIT_MS = 9_500;

/** A server that closes when it is let. */
function serving(replacedMs?: number) {
  const clock = new ManualClock();
  const events = new EventEmitter();
  const lines: string[] = [];
  const said: string[] = [];
  const started = latch<Error | undefined>('the start');
  const mayClose = latch('the close');
  let closes = 0;
  let startSignal: AbortSignal | undefined;
  const server: RunningServer = {
    url: 'http://127.0.0.1:1',
    instanceId: 'one',
    closing: 'a job that does not end',
    close: () => {
      closes++;
      return mayClose.promise;
    },
  };
  const exitCode = serveUntilEnd({
    start: async (signal) => {
      startSignal = signal;
      const failure = await started.promise;
      if (failure) throw failure;
      return server;
    },
    exitMs: EXIT_MS,
    ...(replacedMs !== undefined && { replacedMs }),
    events,
    clock,
    log: createLog({ level: 'info', secrets: [], destination: { write: (line) => lines.push(line) > 0 } }),
    say: (line) => said.push(line),
  });
  const emit = async (...args: [string, ...unknown[]]) => {
    events.emit(...args);
    await new Promise(setImmediate);
  };
  return {
    clock,
    events,
    emit,
    lines,
    said,
    started,
    mayClose,
    exitCode,
    closes: () => closes,
    startSignal: () => startSignal,
  };
}

describe('serveUntilEnd', () => {
  it.each(['SIGTERM', 'SIGINT'])('closes once on %s and ends with 0', async (signal) => {
    const its = serving();
    its.started.open(undefined);
    await its.emit(signal);
    await its.emit('SIGTERM');
    expect(its.closes()).toBe(1);
    its.mayClose.open();
    expect(await its.exitCode).toBe(0);
    expect(its.events.eventNames()).toEqual([]);
    expect(its.clock.pendingTimers).toBe(0);
  });

  it('ends with 0 before the grace period is over, saying what hangs', async () => {
    const its = serving();
    its.started.open(undefined);
    await its.emit('SIGTERM');
    await its.clock.advance(EXIT_MS);
    expect(await its.exitCode).toBe(0);
    expect(JSON.parse(its.lines.at(-1) ?? '')).toMatchObject({
      level: 'warn',
      waitingFor: 'a job that does not end',
    });
  });

  it('ends at once on another SIGINT, but takes one press of the keys for one', async () => {
    const its = serving();
    its.started.open(undefined);
    await its.emit('SIGINT');
    await its.emit('SIGINT');
    expect(its.said).toHaveLength(1);
    await its.clock.advance(1_000);
    await its.emit('SIGTERM');
    await its.emit('SIGINT');
    expect(await its.exitCode).toBe(130);
  });

  it('ends a start that is under way', async () => {
    const its = serving();
    await its.emit('SIGTERM');
    expect(its.startSignal()?.aborted).toBe(true);
    expect(its.said).toEqual(['SIGTERM: stopping, when this step of the start is over.']);
    its.started.open(new Error('aborted'));
    expect(await its.exitCode).toBe(0);
    expect(its.closes()).toBe(0);
  });

  it('ends sooner when another takes its place, and else does not handle that', async () => {
    expect(serving().events.eventNames()).not.toContain('SIGHUP');
    const its = serving(2_700);
    its.started.open(undefined);
    await new Promise(setImmediate);
    await its.emit('SIGHUP');
    expect(its.said).toEqual(['SIGHUP: letting work end, within 2.7 s.']);
    await its.clock.advance(2_700);
    expect(await its.exitCode).toBe(0);
  });

  it('closes a server that has started in spite of it', async () => {
    const its = serving();
    await its.emit('SIGTERM');
    its.started.open(undefined);
    its.mayClose.open();
    expect(await its.exitCode).toBe(0);
    expect(its.closes()).toBe(1);
  });

  it('passes on why a start has failed', async () => {
    const its = serving();
    its.started.open(new Error('no port'));
    await expect(its.exitCode).rejects.toThrow('no port');
    expect(its.events.eventNames()).toEqual([]);
  });

  it.each(['uncaughtException', 'unhandledRejection'])('ends with 1 after %s', async (event) => {
    const its = serving();
    its.started.open(undefined);
    await its.emit(event, new Error('a defect'));
    expect(await its.exitCode).toBe(1);
    expect(JSON.parse(its.lines.at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      err: { message: 'a defect' },
    });
    expect(its.said.at(-1)).toMatch(/^Millrace ends: .*: a defect$/);
  });
});
