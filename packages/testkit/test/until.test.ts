import { describe, expect, it } from 'vitest';
import { until } from '../src/until.js';

describe('until', () => {
  it('gives what the condition returned once it is truthy', async () => {
    let looks = 0;
    const value = await until(() => (++looks === 3 ? 'third' : undefined), { what: 'a third look' });
    expect(value).toBe('third');
    expect(looks).toBe(3);
  });

  it('takes a throw for "not yet"', async () => {
    let looks = 0;
    const condition = async () => {
      looks += 1;
      if (looks < 3) throw new Error('not ready');
      return looks;
    };
    expect(await until(condition, { what: 'readiness' })).toBe(3);
  });

  it('says what was waited for and the last value', async () => {
    const waiting = until(() => 0, { what: 'the queue to fill', deadlineMs: 20 });
    await expect(waiting).rejects.toThrow('expected the queue to fill within 20 ms, the last value was 0');
  });

  it('says the last error and keeps it as the cause', async () => {
    const cause = new Error('connection refused');
    const waiting = until(() => Promise.reject(cause), { what: 'an answer', deadlineMs: 20 });
    await expect(waiting).rejects.toMatchObject({
      message: expect.stringContaining('the last look failed: Error: connection refused'),
      cause,
    });
  });

  it('ends although the condition hangs', async () => {
    const waiting = until(() => new Promise<boolean>(() => {}), { what: 'an answer', deadlineMs: 20 });
    await expect(waiting).rejects.toThrow('the condition never answered');
  });
});
