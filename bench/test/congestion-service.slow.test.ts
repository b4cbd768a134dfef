import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMPARATORS, contest } from '../src/congestion/contest.js';
import { openClient } from '../src/congestion/drive.js';
import { outcomePlot } from '../src/congestion/outcome.js';
import { startService } from '../src/congestion/service-process.js';

// Child processes run from the build.
const program = fileURLToPath(new URL('../dist/congestion/service-child.js', import.meta.url));
const phases = [{ seconds: 1, perSecond: 100 }];

describe('bulk-action BA-3: the hidden service in its own process', () => {
  it('bulk-action BA-3: answers, refuses at once above its capacity, counts both, and is gone after stop', async () => {
    const service = await startService({ kind: 'refusing', phases, workMs: 5 }, program);
    const client = openClient(service.url, 50);
    const statuses = await Promise.all(Array.from({ length: 50 }, () => client.call()));
    client.close();
    const refused = statuses.filter((status) => status === 429).length;
    const accepted = statuses.filter((status) => status === 200).length;
    expect(accepted + refused).toBe(50);
    expect(refused).toBeGreaterThan(0);
    expect(await service.report()).toMatchObject({ accepted, refused });
    await service.stop();
    const port = Number(new URL(service.url).port);
    const again = createServer().listen(port, '127.0.0.1');
    await once(again, 'listening');
    again.close();
  });

  it('bulk-action BA-3: the comparators drive it for the time of its profile, one after the other', async () => {
    const outcomes = await contest({ kind: 'queueing', phases, workMs: 5 }, COMPARATORS, 20, program);
    expect(outcomes.map(({ controller }) => controller)).toEqual(['AIMD alone', 'Vegas alone']);
    for (const { report, limits, controller } of outcomes) {
      expect(report.accepted, controller).toBeGreaterThan(20);
      expect(report.ticks.map(({ perSecond }) => perSecond)).toEqual([100, 100]);
      expect(limits.length, controller).toBeGreaterThanOrEqual(1);
    }
    expect(outcomePlot('short', outcomes)).toContain('Vegas alone');
  });

  it('bulk-action BA-3: a child that does not come up is an error', async () => {
    await expect(startService({ kind: 'refusing', phases, workMs: 5 }, `${program}.missing`)).rejects.toThrow(
      'before it listened',
    );
  });
});
