import type { Linked } from '@millrace/foundation';
import { leakCheck } from '@millrace/testkit/vitest';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lanes } from '../../src/lanes/lanes.js';
import { Scenario } from './scenario.js';

leakCheck();

const SCENARIOS = 200;

interface Numbered extends Linked<Numbered> {
  readonly key: string;
  readonly n: number;
}

describe('runtime RT-5: lanes under random use', () => {
  it(`runtime RT-5, runtime RT-6: ${SCENARIOS} random lives keep order, never overlap, and stream every text whole`, async () => {
    const total = { refused: 0, parallel: 0, cancelled: 0, failed: 0, completed: 0, snapshots: 0, left: 0 };
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const scenario = new Scenario(seed);
        await scenario.run();
        for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += scenario.seen[key];
      }),
      { seed: 56, numRuns: SCENARIOS },
    );
    console.log('random lives:', JSON.stringify(total));
    // A generator that never reaches something proves nothing about it.
    for (const count of Object.values(total)) expect(count).toBeGreaterThan(20);
  }, 60_000);

  it('runtime RT-5: the rule alone: one ready or active task per key, first come first served', () => {
    const command = fc.record({
      verb: fc.constantFrom('add', 'take', 'release', 'remove'),
      pick: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const lanes = new Lanes<Numbered>();
        const queued: Numbered[] = [];
        const active: Numbered[] = [];
        for (const [n, { verb, pick }] of commands.entries()) {
          if (verb === 'add') {
            const task: Numbered = { key: `k${pick % 4}`, n, previous: undefined, next: undefined };
            queued.push(task);
            lanes.add(task);
          } else if (verb === 'take') {
            const task = lanes.take();
            const busy = new Set(active.map(({ key }) => key));
            const startable = queued.filter(
              ({ key }, index) => !busy.has(key) && queued.findIndex((other) => other.key === key) === index,
            );
            if (!task) expect(startable).toEqual([]);
            else {
              expect(startable).toContain(task);
              active.push(...queued.splice(queued.indexOf(task), 1));
            }
          } else if (verb === 'release') {
            const [task] = active.splice(pick % (active.length || 1), 1);
            if (task) lanes.release(task);
          } else {
            const [task] = queued.splice(pick % (queued.length || 1), 1);
            if (task) lanes.remove(task);
            // An active one stays.
            if (active[0]) lanes.remove(active[0]);
          }
          expect(lanes.queuedCount).toBe(queued.length);
          expect(lanes.activeCount).toBe(active.length);
          expect(lanes.size).toBe(new Set([...queued, ...active].map(({ key }) => key)).size);
        }
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});
