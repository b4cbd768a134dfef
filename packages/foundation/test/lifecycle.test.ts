import { latch } from '@millrace/testkit';
import { expect, it, vi } from 'vitest';
import { Lifecycle } from '../src/index.js';

type Step = () => Promise<void> | void;

function service(steps: { start?: Step; stop?: Step } = {}) {
  const start = vi.fn(steps.start ?? (() => {}));
  const stop = vi.fn(steps.stop ?? (() => {}));
  const lifecycle = new Lifecycle('The mill', { start, stop });
  const calls = () => [start.mock.calls.length, stop.mock.calls.length];
  return { lifecycle, start, stop, calls };
}

function throwPortTaken(): never {
  throw new Error('port taken');
}

it('goes IDLE → STARTING → RUNNING → STOPPING → STOPPED once, and concurrent calls share one promise', async () => {
  const note = () => void states.push(lifecycle.state);
  const { lifecycle, calls } = service({ start: note, stop: note });
  const states = [lifecycle.state];
  const starting = lifecycle.start();
  expect(lifecycle.start()).toBe(starting);
  await starting.then(note);
  const stopping = lifecycle.stop();
  expect(lifecycle.stop()).toBe(stopping);
  await stopping.then(note);
  expect(states).toEqual(['IDLE', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED']);
  expect(calls()).toEqual([1, 1]);
});

it('cannot be started after a stop, even one before the start', async () => {
  const { lifecycle, calls } = service();
  await lifecycle.stop();
  const message = 'The mill has been stopped and cannot be started again; make a new one';
  await expect(lifecycle.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED', message });
  expect([lifecycle.state, ...calls()]).toEqual(['STOPPED', 0, 0]);
});

it('stops after a start in progress, only if that succeeds, and is stopped even if the stop fails', async () => {
  for (const isGood of [true, false]) {
    const opened = latch('the service is open');
    const start = () => opened.promise.then(() => (isGood ? undefined : throwPortTaken()));
    const { lifecycle, stop, calls } = service({ start, stop: throwPortTaken });
    const ends = Promise.allSettled([lifecycle.start(), lifecycle.stop()]);
    expect(stop).not.toHaveBeenCalled();
    opened.open();
    const statuses = (await ends).map(({ status }) => status);
    expect(statuses).toEqual(isGood ? ['fulfilled', 'rejected'] : ['rejected', 'fulfilled']);
    expect([lifecycle.state, ...calls()]).toEqual(['STOPPED', 1, isGood ? 1 : 0]);
  }
});

it('may be started again after a failed start, and stops at the end of await using', async () => {
  for (const fail of [() => Promise.reject(new Error('port taken')), throwPortTaken]) {
    const { lifecycle, start, calls } = service();
    start.mockImplementationOnce(fail);
    await expect(lifecycle.start()).rejects.toThrow('port taken');
    expect(lifecycle.state).toBe('IDLE');
    {
      await using scope = lifecycle;
      await scope.start();
    }
    expect(calls()).toEqual([2, 1]);
  }
});
