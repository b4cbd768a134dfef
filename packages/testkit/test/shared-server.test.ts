import { describe, expect, it } from 'vitest';
import { shareServer } from '../src/shared-server.js';

function countingServer() {
  const counts = { started: 0, stopped: 0 };
  const start = async () => {
    counts.started += 1;
    const stop = async () => {
      counts.stopped += 1;
    };
    return { number: counts.started, [Symbol.asyncDispose]: stop };
  };
  return { counts, start };
}

describe('shareServer', () => {
  it('starts one server for all and stops it with the last share', async () => {
    const { counts, start } = countingServer();
    const take = shareServer(start);
    const [a, b] = await Promise.all([take(), take()]);
    expect(a.server).toBe(b.server);
    await a.release();
    await a.release();
    expect(counts).toEqual({ started: 1, stopped: 0 });
    await b.release();
    expect(counts).toEqual({ started: 1, stopped: 1 });
  });

  it('starts another one after that', async () => {
    const { counts, start } = countingServer();
    const take = shareServer(start);
    await (await take()).release();
    const again = await take();
    expect(again.server.number).toBe(2);
    await again.release();
    expect(counts).toEqual({ started: 2, stopped: 2 });
  });

  it('tries again after a start that failed', async () => {
    const { counts, start } = countingServer();
    let broken = true;
    const take = shareServer(() => (broken ? Promise.reject(new Error('no server')) : start()));
    await expect(Promise.all([take(), take()])).rejects.toThrow('no server');
    broken = false;
    await (await take()).release();
    expect(counts).toEqual({ started: 1, stopped: 1 });
  });
});
