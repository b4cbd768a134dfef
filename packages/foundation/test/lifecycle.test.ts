import { describe, expect, it, vi } from 'vitest';
import { Lifecycle } from '../src/index.js';

function service(steps: { start?: () => Promise<void> | void; stop?: () => Promise<void> | void } = {}) {
  const start = vi.fn(steps.start ?? (() => {}));
  const stop = vi.fn(steps.stop ?? (() => {}));
  return { lifecycle: new Lifecycle('The mill', { start, stop }), start, stop };
}

function throwPortTaken(): never {
  throw new Error('port taken');
}

describe('Lifecycle', () => {
  it('goes IDLE → STARTING → RUNNING → STOPPING → STOPPED', async () => {
    const { lifecycle } = service();
    const states = [lifecycle.state];
    const starting = lifecycle.start();
    states.push(lifecycle.state);
    await starting;
    states.push(lifecycle.state);
    const stopping = lifecycle.stop();
    await Promise.resolve().then(() => {});
    states.push(lifecycle.state);
    await stopping;
    states.push(lifecycle.state);
    expect(states).toEqual(['IDLE', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED']);
  });

  it('start and stop are idempotent, and concurrent calls share one promise', async () => {
    const { lifecycle, start, stop } = service();
    expect(lifecycle.start()).toBe(lifecycle.start());
    await lifecycle.start();
    expect(lifecycle.stop()).toBe(lifecycle.stop());
    await lifecycle.stop();
    expect(start).toHaveBeenCalledOnce();
    expect(stop).toHaveBeenCalledOnce();
  });

  it('stop is safe before start, and is then final', async () => {
    const { lifecycle, start, stop } = service();
    await lifecycle.stop();
    expect(lifecycle.state).toBe('STOPPED');
    await expect(lifecycle.start()).rejects.toMatchObject({
      code: 'SERVICE_STOPPED',
      message: 'The mill has been stopped and cannot be started again; make a new one',
    });
    expect(start).not.toHaveBeenCalled();
    expect(stop).not.toHaveBeenCalled();
  });

  it('stop waits for a start that is under way', async () => {
    let opened = () => {};
    const { lifecycle, stop } = service({
      start: () =>
        new Promise<void>((resolve) => {
          opened = resolve;
        }),
    });
    const starting = lifecycle.start();
    const stopping = lifecycle.stop();
    expect(stop).not.toHaveBeenCalled();
    opened();
    await Promise.all([starting, stopping]);
    expect(stop).toHaveBeenCalledOnce();
  });

  it('a failed start may be tried again, whether it threw at once or later', async () => {
    for (const fail of [() => Promise.reject(new Error('port taken')), throwPortTaken]) {
      const { lifecycle, start } = service();
      start.mockImplementationOnce(fail);
      await expect(lifecycle.start()).rejects.toThrow('port taken');
      expect(lifecycle.state).toBe('IDLE');
      await lifecycle.start();
      expect(lifecycle.state).toBe('RUNNING');
    }
  });

  it('stop after a start that failed has nothing to end', async () => {
    let tries = 0;
    const { lifecycle, stop } = service({
      start: () => {
        if (++tries < 3) throw new Error('port taken');
      },
    });
    await expect(lifecycle.start()).rejects.toThrow('port taken');
    expect(lifecycle.state).toBe('IDLE');
    const failing = lifecycle.start();
    const stopping = lifecycle.stop();
    await expect(failing).rejects.toThrow('port taken');
    await stopping;
    expect(stop).not.toHaveBeenCalled();
  });

  it('a failing stop is told to every caller, and the service is stopped all the same', async () => {
    const { lifecycle } = service({
      stop: () => {
        throw new Error('stuck');
      },
    });
    await lifecycle.start();
    const both = await Promise.allSettled([lifecycle.stop(), lifecycle.stop()]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(lifecycle.state).toBe('STOPPED');
  });

  it('works with await using', async () => {
    const { lifecycle, stop } = service();
    {
      await using scope = lifecycle;
      await scope.start();
    }
    expect(stop).toHaveBeenCalledOnce();
  });
});
