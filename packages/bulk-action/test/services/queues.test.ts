import { describe, expect, it } from 'vitest';
import { defineAggregator, defineProcessor } from '../../src/index.js';
import { byHand } from './by-hand.js';

const LOST = { code: 'LEASE_LOST' };
const invalid = { code: 'OPTION_INVALID' };

describe('bulk-action BA-17: FairQueueService', () => {
  it('bulk-action BA-17: enqueue, dequeue in the fair order, ack → group completed?', async () => {
    const { fairQueue, engine, counts } = byHand();
    const job = (groupId: string, jobId: string) =>
      fairQueue.enqueue({ groupId, jobId, jobProcessorType: 'T', payload: { jobId } });
    expect([await job('a', 'a1'), await job('a', 'a2'), await job('b', 'b1')]).toEqual([true, true, true]);
    expect(await job('a', 'a1')).toBe(false);
    await engine.service.seal('a');
    const order = [await fairQueue.dequeue(), await fairQueue.dequeue(), await fairQueue.dequeue()];
    expect(order).toMatchObject([
      { groupId: 'a', id: 'a1', processorType: 'T', payload: { jobId: 'a1' } },
      { groupId: 'b', id: 'b1' },
      { groupId: 'a', id: 'a2' },
    ]);
    expect(await fairQueue.dequeue()).toBeUndefined();
    expect(await counts('a')).toMatchObject({ inFlight: 2 });
    expect(await fairQueue.ack('a1', 'a')).toBe(false);
    expect(await fairQueue.ack('a2', 'a')).toBe(true);
    expect(await fairQueue.ack('b1', 'b')).toBe(false);
    await expect(fairQueue.ack('a1', 'a')).rejects.toMatchObject(LOST);
    expect(await counts('a')).toMatchObject({ success: 2, inFlight: 0 });
  });

  it('bulk-action BA-17: bad ids are refused before anything is stored', async () => {
    const { fairQueue, engine } = byHand();
    const job = { groupId: 'g', jobId: 'a b', jobProcessorType: 'T' };
    await expect(fairQueue.enqueue(job)).rejects.toMatchObject({ code: 'ID_INVALID' });
    await expect(fairQueue.ack('a b', 'g')).rejects.toMatchObject({ code: 'ID_INVALID' });
    await expect(engine.service.getProgress('g')).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
  });
});

describe('bulk-action BA-17: ReadyQueueService and InFlightQueueService', () => {
  it('bulk-action BA-17: push and pushAll go through the gate; size and hasCapacity say how full it is', async () => {
    const { readyQueue, submit } = byHand({ backpressure: { readyQueueMaxSize: 2 } });
    await submit('g', 4);
    const refs = ['j0', 'j1', 'j2'].map((jobId) => ({ groupId: 'g', jobId }));
    expect(await readyQueue.hasCapacity()).toBe(true);
    expect(await readyQueue.push({ groupId: 'g', jobId: 'j3' })).toMatchObject({ reason: 'TURN' });
    expect(await readyQueue.pushAll(refs)).toEqual([
      { accepted: true, destination: 'READY', reason: 'NONE' },
      { accepted: true, destination: 'READY', reason: 'NONE' },
      { accepted: false, destination: 'REJECTED', reason: 'READY_FULL' },
    ]);
    expect([await readyQueue.size(), await readyQueue.hasCapacity()]).toEqual([2, false]);
    await expect(readyQueue.push({ groupId: 'g', jobId: 'none' })).rejects.toMatchObject({
      code: 'JOB_NOT_FOUND',
    });
  });

  it('bulk-action BA-17: reliablePop takes what is ready under a lease, and ack counts it', async () => {
    const { readyQueue, inFlightQueue, submit, counts } = byHand();
    await submit('g', 2);
    expect(await readyQueue.reliablePop(0, 'w1')).toBeUndefined();
    await readyQueue.push({ groupId: 'g', jobId: 'j0' });
    expect(await readyQueue.reliablePop(0, 'w1')).toMatchObject({ groupId: 'g', id: 'j0', payload: 0 });
    expect(await counts('g')).toMatchObject({ inFlight: 1, pending: 1 });
    expect(inFlightQueue.size()).toBe(1);
    await expect(inFlightQueue.ack('j0', 'w2')).rejects.toMatchObject(LOST);
    expect(await inFlightQueue.renew('j0', 'w1')).toBe(true);
    expect(await inFlightQueue.ack('j0', 'w1')).toBe(false);
    await readyQueue.push({ groupId: 'g', jobId: 'j1' });
    await readyQueue.reliablePop(0, 'w1');
    expect(await inFlightQueue.ack('j1', 'w1')).toBe(true);
    expect(await counts('g')).toMatchObject({ success: 2 });
  });

  it('bulk-action BA-17: reliablePop waits for a job, as long as it was told, and not past the end', async () => {
    const { readyQueue, submit, clock, engine } = byHand();
    let popped: unknown = 'nothing yet';
    const pop = (seconds: number) =>
      readyQueue.reliablePop(seconds, 'w').then((job) => {
        popped = job?.id;
      });
    const first = pop(60);
    await clock.advance(20_000);
    expect(popped).toBe('nothing yet');
    await submit('g', 1);
    await readyQueue.push({ groupId: 'g', jobId: 'j0' });
    await first;
    expect(popped).toBe('j0');
    popped = 'nothing yet';
    const second = pop(7);
    await clock.advance(6999);
    expect(popped).toBe('nothing yet');
    await clock.advance(1);
    await second;
    expect(popped).toBeUndefined();
    const third = pop(60);
    await engine.held.stop();
    await third;
    expect(clock.pendingTimers).toBe(0);
    await expect(readyQueue.reliablePop(-1, 'w')).rejects.toMatchObject(invalid);
    await expect(readyQueue.reliablePop(1, '')).rejects.toMatchObject({ code: 'ID_INVALID' });
  });

  it('bulk-action BA-17: an id that a worker holds of two groups needs its group', async () => {
    const { readyQueue, inFlightQueue, submit, counts } = byHand();
    for (const groupId of ['a', 'b']) {
      await submit(groupId, 1);
      await readyQueue.push({ groupId, jobId: 'j0' });
      await readyQueue.reliablePop(0, 'w');
    }
    await expect(inFlightQueue.ack('j0', 'w')).rejects.toMatchObject(invalid);
    expect(await inFlightQueue.ack('j0', 'w', 'b')).toBe(true);
    expect([(await counts('a')).success, (await counts('b')).success]).toEqual([0, 1]);
    expect(await inFlightQueue.ack('j0', 'w')).toBe(true);
  });

  it("bulk-action BA-17: recoverAll gives back this instance's own, and nobody else's", async () => {
    const { fairQueue, inFlightQueue, clock, submit, counts, memory } = byHand();
    await submit('g', 250);
    for (let n = 0; n < 240; n++) await fairQueue.dequeue();
    await memory.leases.reserve({ instanceId: 'another', seq: 1, max: 1, turns: 1 });
    expect(await counts('g')).toMatchObject({ inFlight: 241 });
    const recovering = inFlightQueue.recoverAll();
    await clock.advance(0);
    await clock.advance(0);
    expect(await recovering).toBe(240);
    expect(await counts('g')).toMatchObject({ inFlight: 1, pending: 249 });
    expect(inFlightQueue.size()).toBe(0);
  });
});

describe('bulk-action BA-17: NonReadyQueueService, RateLimiterService, CongestionControlService', () => {
  it('bulk-action BA-17: add puts a job off that is held, without spending a retry', async () => {
    const { nonReadyQueue, fairQueue, submit, job, clock, memory } = byHand();
    await submit('g', 2);
    await fairQueue.dequeue();
    const put = { groupId: 'g', jobId: 'j0', delayMs: 5000 };
    await expect(nonReadyQueue.add({ ...put, delayMs: -1 })).rejects.toMatchObject(invalid);
    await expect(nonReadyQueue.add({ ...put, reason: 'BORED' as never })).rejects.toMatchObject(invalid);
    await expect(nonReadyQueue.add({ ...put, jobId: 'j1' })).rejects.toMatchObject(LOST);
    await nonReadyQueue.add({ ...put, reason: 'SCHEDULED' });
    expect(await nonReadyQueue.size()).toBe(1);
    expect(await job('g', 'j0')).toMatchObject({ place: 'NON_READY', reason: 'SCHEDULED', retryCount: 0 });
    await clock.advance(4999);
    expect(await memory.gate.dispatch(10)).toMatchObject({ moved: 0 });
    await clock.advance(1);
    expect(await memory.gate.dispatch(10)).toMatchObject({ moved: 1 });
    expect(await nonReadyQueue.size()).toBe(0);
  });

  it('bulk-action BA-17: checkRate spends nothing; deactivateGroup takes the rate of the group away', async () => {
    const { rateLimiter, fairQueue, engine } = byHand();
    const jobs = [1, 2, 3].map((n) => ({ id: `j${n}`, processorType: 'T' }));
    await engine.service.submitBulk({ id: 'g', rps: 1, burst: 1 }, jobs);
    for (let n = 0; n < 3; n++)
      expect(await rateLimiter.checkRate('g')).toEqual({ allowed: true, nextInMs: 0 });
    await fairQueue.dequeue();
    expect(await rateLimiter.checkRate('g')).toEqual({ allowed: false, nextInMs: 1000 });
    expect(await fairQueue.dequeue()).toBeUndefined();
    expect(await rateLimiter.deactivateGroup('g')).toMatchObject({ changed: true });
    expect(await rateLimiter.checkRate('g')).toEqual({ allowed: true, nextInMs: 0 });
    expect((await fairQueue.dequeue())?.id).toBe('j2');
    await engine.service.cancelGroup('g');
    expect(await rateLimiter.deactivateGroup('g')).toEqual({ status: 'CANCELLED', changed: false });
    await expect(rateLimiter.deactivateGroup('none')).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
  });

  it('bulk-action BA-3: addToNonReady is a throttle; getStats shows it, resetGroupStats forgets it', async () => {
    const { congestionControl, engine, fairQueue, submit, job } = byHand({ resources: { T: {} } });
    await submit('g', 5);
    await fairQueue.dequeue();
    expect(
      await congestionControl.addToNonReady({ groupId: 'g', jobId: 'j0', retryAfterMs: 9000 }),
    ).toMatchObject({ status: 'accepted', jobStatus: 'PENDING' });
    expect(await job('g', 'j0')).toMatchObject({ reason: 'API_THROTTLED', retryCount: 0 });
    expect(await engine.congestion.getStats('g')).toMatchObject({
      throttles: 1,
      lastBackoffMs: 9000,
      nonReadyCount: 1,
    });
    expect((await engine.congestion.getResources()).map(({ resource }) => resource)).toEqual(['T']);
    await expect(congestionControl.addToNonReady({ groupId: 'g', jobId: 'j0' })).rejects.toMatchObject(LOST);
    expect(await congestionControl.resetGroupStats('g')).toMatchObject({ changed: true });
    expect(await engine.congestion.getStats('g')).toMatchObject({
      lastBackoffMs: 0,
      limit: null,
      frozenForMs: 0,
    });
    await expect(congestionControl.resetGroupStats('none')).rejects.toMatchObject({
      code: 'GROUP_NOT_FOUND',
    });
  });
});

describe('bulk-action BA-17: what the other services do with jobs that are held', () => {
  it('bulk-action BA-17: BackpressureService.requeue gives a held job back, and leaves a waiting one where it is', async () => {
    const { engine, fairQueue, submit, job, memory } = byHand();
    const { backpressure } = engine;
    await submit('g', 3);
    await fairQueue.dequeue();
    expect(await backpressure.requeue('j0', 'g')).toMatch(/^(READY|REJECTED)$/);
    expect(await job('g', 'j0')).toMatchObject({ status: 'PENDING', retryCount: 0 });
    expect(await backpressure.requeue('j2', 'g')).toBe('REJECTED');
    const { jobs } = await memory.leases.reserve({ instanceId: 'another', seq: 1, max: 1, turns: 1 });
    await expect(backpressure.requeue(jobs[0]?.jobId as string, 'g')).rejects.toMatchObject(LOST);
    await expect(backpressure.requeue('none', 'g')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await fairQueue.dequeue();
    await engine.service.cancelGroup('g');
    expect(await backpressure.requeue('j1', 'g')).toBeUndefined();
  });

  it('bulk-action BA-13: AggregatorService.recordJobResult reports as the pool would', async () => {
    const { engine, fairQueue, submit, job, clock } = byHand(
      { workerPool: { workerCount: 0, maxRetryCount: 5 } },
      {
        processors: [defineProcessor({ type: 'T', retry: { retries: 1 }, process: () => 0 })],
        aggregators: [
          defineAggregator<number, number>({
            type: 'T',
            map: ({ data }) => data as number,
            async reduce(numbers) {
              let sum = 0;
              for await (const n of numbers) sum += n;
              return sum;
            },
          }),
        ],
      },
    );
    const { aggregator, service } = engine;
    await submit('g', 2);
    await fairQueue.dequeue();
    await fairQueue.dequeue();
    const result = { groupId: 'g', processorType: 'T' };
    expect(
      await aggregator.recordJobResult({ ...result, jobId: 'j0', success: true, data: 40, durationMs: 12 }),
    ).toMatchObject({ status: 'accepted', jobStatus: 'COMPLETED' });
    const failure = {
      ...result,
      jobId: 'j1',
      success: false,
      error: { message: 'no luck', code: 'LUCK', retryable: true },
    };
    expect(await aggregator.recordJobResult(failure)).toMatchObject({ jobStatus: 'PENDING' });
    expect(await job('g', 'j1')).toMatchObject({ retryCount: 1, failedTries: [{ code: 'LUCK' }] });
    await expect(aggregator.recordJobResult(failure)).rejects.toMatchObject(LOST);
    await clock.advance(60_000);
    await engine.store.gate.dispatch(10);
    await fairQueue.dequeue();
    expect(await aggregator.recordJobResult({ ...failure, error: { ...failure.error } })).toMatchObject({
      jobStatus: 'FAILED',
      groupStatus: 'AGGREGATING',
    });
    expect(await aggregator.finalizeGroup('g')).toBe('done');
    expect(await service.getResult('g')).toMatchObject({
      success: 1,
      failed: 1,
      data: 40,
      durations: { max: 12 },
    });
  });
});
