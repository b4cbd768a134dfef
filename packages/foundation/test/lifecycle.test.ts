import { latch } from '@millrace/testkit';
import { expect, it, vi } from 'vitest';
import { Lifecycle } from '../src/index.js';

function service(steps: { start?: () => Promise<void> | void; stop?: () => Promise<void> | void } = {}) {
  const start = vi.fn(steps.start ?? (() => {}));
  const stop = vi.fn(steps.stop ?? (() => {}));
  return { lifecycle: new Lifecycle('The mill', { start, stop }), start, stop };
}

function throwPortTaken(): never {
  throw new Error('port taken');
}

it('goes IDLE → STARTING → RUNNING → STOPPING → STOPPED once, and concurrent calls share one promise', async () => {
  const { lifecycle, start, stop } = service();
  const states = [lifecycle.state];
  const starting = lifecycle.start();
  states.push(lifecycle.state);
  expect(lifecycle.start()).toBe(starting);
  await starting;
  states.push(lifecycle.state);
  const stopping = lifecycle.stop();
  expect(lifecycle.stop()).toBe(stopping);
  await Promise.resolve().then(() => {});
  states.push(lifecycle.state);
  await stopping;
  states.push(lifecycle.state);
  expect(states).toEqual(['IDLE', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED']);
  expect([start.mock.calls.length, stop.mock.calls.length]).toEqual([1, 1]);
});

it('cannot be started after a stop, even one before the start', async () => {
  const { lifecycle, start, stop } = service();
  await lifecycle.stop();
  expect(lifecycle.state).toBe('STOPPED');
  await expect(lifecycle.start()).rejects.toMatchObject({
    code: 'SERVICE_STOPPED',
    message: 'The mill has been stopped and cannot be started again; make a new one',
  });
  expect([start.mock.calls.length, stop.mock.calls.length]).toEqual([0, 0]);
});

it('stops after a start in progress, and only if that succeeds', async () => {
  for (const isGood of [true, false]) {
    const opened = latch('the service is open');
    const start = () => opened.promise.then(() => (isGood ? undefined : throwPortTaken()));
    const { lifecycle, stop } = service({ start });
    const starting = lifecycle.start();
    const stopping = lifecycle.stop();
    expect(stop).not.toHaveBeenCalled();
    opened.open();
    await Promise.allSettled([starting]);
    await stopping;
    expect(stop).toHaveBeenCalledTimes(isGood ? 1 : 0);
  }
});

it('may be started again after a failed start, and stops at the end of await using', async () => {
  for (const fail of [() => Promise.reject(new Error('port taken')), throwPortTaken]) {
    const { lifecycle, start, stop } = service();
    start.mockImplementationOnce(fail);
    await expect(lifecycle.start()).rejects.toThrow('port taken');
    expect(lifecycle.state).toBe('IDLE');
    {
      await using scope = lifecycle;
      await scope.start();
      expect(lifecycle.state).toBe('RUNNING');
    }
    expect(stop).toHaveBeenCalledOnce();
  }
});

it('reports a failing stop to every caller, and is stopped', async () => {
  const { lifecycle } = service({ stop: throwPortTaken });
  await lifecycle.start();
  const both = await Promise.allSettled([lifecycle.stop(), lifecycle.stop()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(lifecycle.state).toBe('STOPPED');
});
