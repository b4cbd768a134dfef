import { latch, ManualClock, recordingLogger, until } from '@millrace/testkit';
import { Inject } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { defineProcessor } from '../../src/index.js';
import {
  BulkActionModule,
  BulkActionService,
  BulkProcessor,
  bulkActionToken,
  WorkerPoolService,
} from '../../src/nestjs/index.js';
import { boot, feature, QUIET, start } from './boot.js';

describe('bulk-action BA-10: life and end of an application', () => {
  const threeWorkers = { ...QUIET, workerPool: { workerCount: 3 } };

  it('bulk-action BA-7: after init with 3 workers: three workers, isShuttingDown false', async () => {
    const app = await boot({ imports: [BulkActionModule.register(threeWorkers)] });
    const { workers, isShuttingDown } = app.get(WorkerPoolService).getPoolStatus();
    expect(workers.map(({ state }) => state)).toEqual(['RUNNING', 'RUNNING', 'RUNNING']);
    expect(isShuttingDown).toBe(false);
  });

  it("bulk-action BA-10: onApplicationShutdown('SIGTERM') → isShuttingDown true, three STOPPED", async () => {
    const app = await boot({ imports: [BulkActionModule.register(threeWorkers)] });
    const pool = app.get(WorkerPoolService);
    await pool.onApplicationShutdown('SIGTERM');
    const { workers, isShuttingDown } = pool.getPoolStatus();
    expect(isShuttingDown).toBe(true);
    expect(workers.map(({ state }) => state)).toEqual(['STOPPED', 'STOPPED', 'STOPPED']);
  });

  it('bulk-action BA-10: the pool starts last and drains first; handing in works until the end', async () => {
    const events: string[] = [];
    const mayEnd = latch('the job may end');
    const begun = latch('the job runs');
    class Database {
      onModuleInit = () => void events.push('database ready');
      onModuleDestroy = () => void events.push('database gone');
    }
    class Work {
      constructor(readonly service: BulkActionService) {}
      onApplicationBootstrap = () => void events.push('work ready');
      async process(): Promise<void> {
        begun.open();
        await mayEnd.promise;
        events.push('job done');
      }
      close = () => void events.push('processor closed');
      async onModuleDestroy(): Promise<void> {
        const { added } = await this.service.addJobs('later', [{ processorType: 'LATER' }]);
        events.push(`handed in ${added}`);
      }
    }
    Inject(BulkActionService)(Work, undefined, 0);
    BulkProcessor('WORK')(Work);
    const app = await start({
      imports: [BulkActionModule.register(QUIET), feature('Data', { providers: [Database] })],
      providers: [Work],
    });
    await app.get(BulkActionService).submitBulk({ id: 'g' }, [{ processorType: 'WORK' }]);
    await begun.wait();
    const closing = app.close();
    await until(() => app.get(WorkerPoolService).getPoolStatus().isShuttingDown, { what: 'the drain' });
    mayEnd.open();
    await closing;
    expect(events).toEqual([
      'database ready',
      'work ready',
      'job done',
      'handed in 1',
      'database gone',
      'processor closed',
    ]);
  });

  it('bulk-action BA-10: near the end of the grace period jobs see an abort and go back, and the end comes all the same', async () => {
    const clock = new ManualClock();
    const { log, lines } = recordingLogger();
    const begun = latch('the job runs');
    const reasons: unknown[] = [];
    const slow = defineProcessor({
      type: 'SLOW',
      async process(_job, { signal }) {
        begun.open();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
      },
    });
    const app = await start({
      imports: [BulkActionModule.register({ ...QUIET, clock, log, processors: [slow] })],
    });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'g' }, [{ id: 'j', processorType: 'SLOW' }]);
    await clock.advance(50);
    await begun.wait();
    const closing = app.close();
    await clock.advance(2000);
    await closing;
    expect(reasons).toMatchObject([{ code: 'SERVICE_STOPPED' }]);
    expect(await service.getJob('g', 'j')).toMatchObject({ status: 'PENDING', retryCount: 0 });
    expect(lines.some(({ message }) => message === '1 unfinished jobs given back')).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: several engines drain together: their grace periods do not add up', async () => {
    const clock = new ManualClock();
    const endless = defineProcessor({ type: 'ENDLESS', process: () => new Promise<void>(() => {}) });
    const options = { ...QUIET, clock, processors: [endless] };
    const names = ['one', 'two', 'three'];
    const app = await start({
      imports: names.map((name) => BulkActionModule.register({ ...options, name })),
    });
    const services = names.map((name) =>
      app.get<BulkActionService>(bulkActionToken(BulkActionService, name)),
    );
    for (const service of services) await service.submitBulk({ id: 'g' }, [{ processorType: 'ENDLESS' }]);
    await clock.advance(50);
    const inFlight = () =>
      Promise.all(services.map(async (service) => (await service.getProgress('g')).inFlight));
    expect(await inFlight()).toEqual([1, 1, 1]);
    const closing = app.close();
    await clock.advance(2000);
    await closing;
    expect(await inFlight()).toEqual([0, 0, 0]);
  });

  it('bulk-action BA-17: an application that fails to start runs no job', async () => {
    const ran: unknown[] = [];
    const work = defineProcessor({ type: 'WORK', process: (job) => void ran.push(job) });
    let pool: WorkerPoolService | undefined;
    class Broken {
      constructor(
        readonly service: BulkActionService,
        given: WorkerPoolService,
      ) {
        pool = given;
      }
      async onApplicationBootstrap(): Promise<void> {
        await this.service.submitBulk({ id: 'g' }, [{ processorType: 'WORK' }]);
        throw new Error('no database');
      }
    }
    Inject(BulkActionService)(Broken, undefined, 0);
    Inject(WorkerPoolService)(Broken, undefined, 1);
    await expect(
      start({
        imports: [BulkActionModule.register({ ...QUIET, processors: [work] })],
        providers: [Broken],
      }),
    ).rejects.toThrow('no database');
    expect(ran).toEqual([]);
    expect(pool?.getPoolStatus()).toMatchObject({ workers: [], fetcherRunning: false });
  });
});
