import { expect, it } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import { countsOf, fill, group, Instance, job, type OpenStore, type StoreHarness, succeed } from './tools.js';

const count = (leases: readonly LeasedJob[], key: string): number =>
  leases.filter((lease) => lease.key === key).length;

/** Takes and settles in steps of time; what was taken in all. */
async function run(
  harness: StoreHarness,
  steps: number,
  stepMs: number,
  perStep: number,
): Promise<LeasedJob[]> {
  const taken: LeasedJob[] = [];
  const { leases } = harness.store;
  for (let seq = 1; seq <= steps; seq++) {
    const { jobs } = await leases.reserve({ instanceId: 'one', seq, max: perStep, turns: perStep });
    taken.push(...jobs);
    await succeed(harness, jobs);
    await harness.advance(stepMs);
  }
  return taken;
}

const mails = (total: number) =>
  Array.from({ length: total }, (_, n) => job(`m${n}`, { processorType: 'mail' }));

/** Limited resources. */
export function limiting(open: OpenStore): void {
  it('a limited rate holds its own jobs back and nobody else', async () => {
    const harness = await open({ resources: { mail: { rps: 10 } } }, 'one shard');
    await fill(harness, group('/mails'), mails(50));
    await fill(harness, group('/work'), 50);
    const taken = await run(harness, 10, 100, 5);
    // A second at 10/s with a burst of 1, and the other 40 slots for the rest.
    expect(count(taken, '/mails')).toBe(10);
    expect(count(taken, '/work')).toBe(40);
  });

  it('says when its next token comes, and nothing is ready meanwhile', async () => {
    const harness = await open({ resources: { mail: { rps: 2 } } });
    await fill(harness, group('/mails'), mails(5));
    const instance = new Instance(harness);
    expect(await instance.exactly(1)).toHaveLength(1);
    const { ready, nextInMs } = await instance.fetch();
    expect({ ready, nextInMs }).toEqual({ ready: 0, nextInMs: 500 });
    await harness.advance(500);
    expect(await instance.exactly(1)).toHaveLength(1);
  });

  it('what it lets through is shared by weight, however far the others run ahead', async () => {
    const harness = await open({ resources: { mail: { rps: 40 } } }, 'one shard');
    await fill(harness, group('a/mails'), mails(100));
    await fill(harness, group('b/mails'), mails(100));
    await fill(harness, group('c/work'), 400);
    await harness.store.groups.updateTenant('b', { weight: 3 });
    const taken = await run(harness, 20, 100, 20);
    const [a, b] = [count(taken, 'a/mails'), count(taken, 'b/mails')];
    expect(a + b).toBeGreaterThanOrEqual(80);
    expect(Math.abs(3 * a - b)).toBeLessThanOrEqual(4);
    expect(count(taken, 'c/work')).toBe(400 - a - b);
  });

  it('a tenant that waits for two services gets one share of the workers', async () => {
    const harness = await open({ resources: { mail: { rps: 100_000 } } }, 'one shard');
    await fill(harness, group('a/mails'), mails(200));
    await fill(harness, group('a/work'), 200);
    await fill(harness, group('b/work'), 200);
    const taken = await run(harness, 20, 100, 10);
    expect(count(taken, 'b/work')).toBe(100);
  });

  it('a limited concurrency counts ready and running jobs of all groups', async () => {
    const harness = await open({ resources: { mail: { concurrency: 3 } } }, 'one shard');
    for (const tenant of ['a', 'b']) await fill(harness, group(`${tenant}/mails`), mails(5));
    const instance = new Instance(harness);
    const first = await instance.take();
    expect(first).toHaveLength(3);
    await succeed(harness, first.slice(0, 2));
    expect(await instance.take()).toHaveLength(2);
  });

  it('types share a resource when their processors say so, whoever says it first', async () => {
    const harness = await open({ resources: { api: { concurrency: 1 } } }, 'one shard');
    await fill(harness, group('/mails'), mails(3));
    await fill(harness, group('/work'), 3);
    const instance = new Instance(harness);
    await instance.beat({ processorTypes: ['mail', 'work'], resources: { mail: 'api', work: 'api' } });
    const seen: number[] = [];
    for (let taken = 0; taken < 6; taken += 1) {
      const { jobs } = await harness.store.leases.reserve({
        instanceId: 'other',
        seq: taken + 1,
        max: 9,
        turns: 9,
      });
      seen.push(jobs.length);
      await succeed(harness, jobs);
    }
    expect(seen).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('a lane of mixed types moves from line to line with its first job', async () => {
    const harness = await open({ resources: { mail: { concurrency: 1 } } }, 'one shard');
    const mixed = [
      job('a', { processorType: 'mail' }),
      job('b'),
      job('c', { processorType: 'mail' }),
      job('d'),
    ];
    await fill(harness, group('/mixed'), mixed);
    await fill(harness, group('/mails'), mails(1));
    const instance = new Instance(harness);
    const taken = await instance.take();
    // The mail of whoever came first holds the one slot; work goes on until a mail stands in front.
    expect(taken.map(({ jobId }) => jobId)).toEqual(['a', 'b']);
    await succeed(harness, taken);
    const rest = await instance.take();
    expect(rest.map(({ jobId }) => jobId)).toEqual(['m0']);
    await succeed(harness, rest);
    expect((await instance.finish()).map(({ jobId }) => jobId)).toEqual(['c', 'd']);
    expect(await countsOf(harness, '/mixed')).toMatchObject({ success: 4 });
  });

  it('what was given back, lost or failed frees its slot', async () => {
    const harness = await open({ resources: { mail: { concurrency: 1 } } });
    await fill(harness, group('/mails'), mails(3));
    const { leases } = harness.store;
    const instance = new Instance(harness);
    const [back] = await instance.exactly(1);
    await leases.giveBack([back]);
    const [lost] = await instance.exactly(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await leases.recover([0]);
    expect(lost).toBeDefined();
    expect(await instance.take()).toHaveLength(1);
  });
}
