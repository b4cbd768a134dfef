import { Inject, Scope } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { defineAggregator, defineProcessor, type Job, type JobContext } from '../../src/index.js';
import {
  BulkActionEngine,
  BulkActionModule,
  BulkActionService,
  BulkProcessor,
  JOB_AGGREGATOR,
  JOB_PROCESSOR,
} from '../../src/nestjs/index.js';
import { boot, ended, feature, QUIET, recorder, refused, start } from './boot.js';

describe('bulk-action BA-17: processors', () => {
  it('bulk-action BA-17: an application with processors from three feature modules runs the jobs of all', async () => {
    class Addresses {
      of = (name: string) => `${name}@example.org`;
    }
    class Mail {
      readonly sent: string[] = [];
      constructor(readonly addresses: Addresses) {}
      async process({ payload }: Job<string>): Promise<void> {
        this.sent.push(this.addresses.of(payload));
      }
    }
    Inject(Addresses)(Mail, undefined, 0);
    BulkProcessor('MAIL', { timeoutMs: 5000 })(Mail);
    const Print = recorder('PRINT');
    const Call = recorder('CALL');
    const call = new Call();
    const app = await boot({
      imports: [
        feature('MailModule', { providers: [Mail, Addresses] }),
        feature('PrintModule', { imports: [BulkActionModule.registerProcessors([Print])] }),
        BulkActionModule.register(QUIET),
        feature('CallModule', { providers: [{ provide: JOB_PROCESSOR, useFactory: async () => [call] }] }),
      ],
    });
    const service = app.get(BulkActionService);
    const types = ['MAIL', 'PRINT', 'CALL'];
    await service.submitBulk(
      { id: 'all' },
      types.map((processorType) => ({ processorType, payload: 'ada' })),
    );
    await ended(service, 'all');
    expect(await service.getResult('all')).toMatchObject({ success: 3, failed: 0 });
    expect(app.get(Mail, { strict: false }).sent).toEqual(['ada@example.org']);
    expect([app.get(Print, { strict: false }).ran, call.ran]).toEqual([['ada'], ['ada']]);
  });

  it('bulk-action BA-17: jobs that wait when the application starts find every processor', async () => {
    const Early = recorder('EARLY');
    const Late = recorder('LATE');
    class Submitter {
      constructor(readonly service: BulkActionService) {}
      async onModuleInit(): Promise<void> {
        const jobs = ['EARLY', 'LATE', 'DECORATED'].map((processorType) => ({ processorType }));
        await this.service.submitBulk({ id: 'first' }, jobs);
      }
    }
    Inject(BulkActionService)(Submitter, undefined, 0);
    class Decorated {
      process = () => 'done';
    }
    BulkProcessor('DECORATED')(Decorated);
    const app = await boot({
      imports: [
        BulkActionModule.registerProcessors([Early]),
        BulkActionModule.register(QUIET),
        feature('LateModule', {
          imports: [feature('Deep', { imports: [BulkActionModule.registerProcessors([Late])] })],
          providers: [Submitter, Decorated],
        }),
      ],
    });
    const service = app.get(BulkActionService);
    await ended(service, 'first');
    const { items } = await service.listJobs('first');
    expect(items.map(({ status, attempts, failedTries }) => [status, attempts, failedTries])).toEqual(
      items.map(() => ['COMPLETED', 1, []]),
    );
  });

  it('bulk-action BA-17: options of the decorator count, and members of the instance where it says nothing', async () => {
    const seen: unknown[] = [];
    class Slow {
      readonly timeoutMs = 1;
      readonly retry = { retries: 0 };
      async process(_job: Job, { signal }: JobContext): Promise<void> {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        seen.push(signal.reason);
      }
    }
    BulkProcessor('SLOW', { timeoutMs: 30 })(Slow);
    const app = await boot({ imports: [BulkActionModule.register(QUIET)], providers: [Slow] });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'slow' }, [{ processorType: 'SLOW' }]);
    await ended(service, 'slow');
    expect(await service.getResult('slow')).toMatchObject({
      failed: 1,
      failedJobs: [{ code: 'JOB_TIMEOUT', message: expect.stringContaining('timed out after 30 ms') }],
    });
    expect(seen).toHaveLength(1);
  });

  it('bulk-action BA-17: one instance under several names and ways is one processor', async () => {
    const Print = recorder('PRINT');
    BulkProcessor('PRINT')(Print);
    const app = await boot({
      imports: [
        BulkActionModule.register(QUIET),
        feature('A', {
          imports: [BulkActionModule.registerProcessors([Print, Print])],
          providers: [
            { provide: 'alias', useExisting: Print },
            { provide: JOB_PROCESSOR, useExisting: Print },
          ],
        }),
      ],
    });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'one' }, [{ processorType: 'PRINT', payload: 1 }]);
    await ended(service, 'one');
    expect(app.get(Print, { strict: false }).ran).toEqual([1]);
  });

  it('bulk-action BA-17: a subclass of a decorated class is a processor of its type', async () => {
    const Base = recorder('BASE');
    BulkProcessor('MARKED')(Base);
    class Special extends Base {}
    const app = await boot({ imports: [BulkActionModule.register(QUIET)], providers: [Special] });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'one' }, [{ processorType: 'MARKED', payload: 1 }]);
    await ended(service, 'one');
    expect(app.get(Special).ran).toEqual([1]);
  });

  it('bulk-action BA-17: two processors of one type end the start, and the message names both', async () => {
    const One = recorder('SAME');
    class Other {
      process(): void {}
    }
    BulkProcessor('SAME')(Other);
    const imports = [
      BulkActionModule.register(QUIET),
      feature('OneModule', { imports: [BulkActionModule.registerProcessors([One])] }),
      feature('OtherModule', { providers: [Other] }),
    ];
    await expect(start({ imports })).rejects.toThrow(
      refused(
        'PROCESSOR_CONFLICT',
        "two processors for 'SAME': Recorder of OneModule and Other of OtherModule",
      ),
    );
    const given = defineProcessor({ type: 'SAME', process: () => 1 });
    await expect(
      start({
        imports: [
          BulkActionModule.register({ ...QUIET, processors: [given] }),
          BulkActionModule.registerProcessors([One]),
        ],
      }),
    ).rejects.toThrow(
      refused('PROCESSOR_CONFLICT', 'one in the options of BulkActionModule and Recorder of Root'),
    );
  });

  it('bulk-action BA-17: a processor made per request, or one without process, ends the start', async () => {
    const Print = recorder('PRINT');
    BulkProcessor('PRINT')(Print);
    for (const scope of [Scope.REQUEST, Scope.TRANSIENT])
      await expect(
        start({
          imports: [BulkActionModule.register(QUIET)],
          providers: [{ provide: Print, useClass: Print, scope }],
        }),
      ).rejects.toThrow(refused('OPTION_INVALID', 'a provider with one instance'));
    await expect(
      start({
        imports: [BulkActionModule.register(QUIET), BulkActionModule.registerProcessors([{} as never])],
      }),
    ).rejects.toThrow(refused('OPTION_INVALID', 'type must be a text'));
  });

  it('bulk-action BA-17: bad uses of decorator and registrations are refused at once', () => {
    expect(() => BulkProcessor('')).toThrow(refused('OPTION_INVALID'));
    expect(() => BulkProcessor('T', { engine: '' })).toThrow(refused('OPTION_INVALID'));
    expect(() => BulkProcessor('T')({} as never)).toThrow(refused('OPTION_INVALID', 'a class'));
    expect(() => BulkActionModule.registerProcessors(5 as never)).toThrow(refused('OPTION_INVALID'));
    expect(() => BulkActionModule.registerAggregators([5 as never])).toThrow(refused('OPTION_INVALID'));
  });

  it('bulk-action BA-17: the processors that ship are there, unless the application has its own or wants none', async () => {
    const Own = recorder('SEND_EMAIL');
    const { shippedProcessors: _, ...options } = QUIET;
    const app = await boot({
      imports: [BulkActionModule.register(options), BulkActionModule.registerProcessors([Own])],
    });
    expect(app.get(BulkActionEngine).processors.types).toEqual([
      'SEND_EMAIL',
      'PUSH_NOTIFICATION',
      'HTTP_REQUEST',
    ]);
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'mail' }, [{ processorType: 'SEND_EMAIL', payload: 'mine' }]);
    await ended(service, 'mail');
    expect(app.get(Own, { strict: false }).ran).toEqual(['mine']);
    const none = await boot({ imports: [BulkActionModule.register(QUIET)] });
    expect(none.get(BulkActionEngine).processors.types).toEqual([]);
  });
});

describe('bulk-action BA-17: aggregators', () => {
  it('bulk-action BA-17: aggregators of options, feature modules and tokens add up', async () => {
    const sum = (type: string) =>
      defineAggregator<number, number>({
        type,
        map: ({ data }) => (data as { n: number }).n,
        async reduce(numbers) {
          let total = 0;
          for await (const n of numbers) total += n;
          return total;
        },
      });
    class OfClass {
      readonly type = 'B';
      map = sum('B').map;
      reduce = sum('B').reduce;
    }
    const echo = (type: string) => defineProcessor({ type, process: ({ payload }) => ({ n: payload }) });
    const app = await boot({
      imports: [
        BulkActionModule.register({
          ...QUIET,
          processors: ['A', 'B', 'C'].map(echo),
          aggregators: [sum('A')],
        }),
        feature('F', {
          imports: [BulkActionModule.registerAggregators([OfClass])],
          providers: [{ provide: JOB_AGGREGATOR, useValue: sum('C') }],
        }),
      ],
    });
    const service = app.get(BulkActionService);
    const jobs = ['A', 'A', 'B', 'C'].map((processorType, n) => ({ processorType, payload: n + 1 }));
    await service.submitBulk({ id: 'sums' }, jobs);
    await ended(service, 'sums');
    expect((await service.getResult('sums'))?.data).toEqual({ A: 3, B: 3, C: 4 });
    const twice = [
      BulkActionModule.registerAggregators([sum('A')]),
      BulkActionModule.registerAggregators([sum('A')]),
    ];
    await expect(start({ imports: [BulkActionModule.register(QUIET), ...twice] })).rejects.toThrow(
      refused('AGGREGATOR_CONFLICT', "for 'A': a plain object of Root and a plain object of Root"),
    );
  });
});
