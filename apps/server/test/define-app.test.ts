import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { bulk } from '@millrace/orchestrator/bulk';
import { defineDag, task } from '@millrace/outbox';
import { expect, expectTypeOf, it } from 'vitest';
import { type App, defineApp, partsOf } from '../src/define-app.js';

interface Mail {
  readonly to: string;
}

const mail = defineProcessor({
  type: 'mail',
  process: ({ payload }: { readonly payload: Mail }) => ({ sent: payload.to }),
});
const count = defineAggregator<number, { readonly all: number }>({
  type: 'mail',
  map: () => 1,
  async reduce(ones) {
    let all = 0;
    for await (const one of ones) all += one;
    return { all };
  },
});
const close = defineDag('close', {
  load: task({ run: () => [3, 4] }),
  sum: task({ after: ['load'], run: ({ inputs }: { inputs: { load: number[] } }) => inputs.load.length }),
});

it('all six parts of an application are typed by what they are made with', () => {
  const app: App = defineApp({
    processors: [mail, { type: 'plain', process: (job) => job.id }],
    aggregators: [count],
    dags: [close],
    routes: defineRoutes({
      'ORDER.PLACE': inline(({ payload }) => payload),
      'MAIL.SEND': bulk<{ to: string[] }>(({ payload }) => ({
        jobs: payload.to.map((to) => ({ id: to, processorType: 'mail', payload: { to } })),
      })),
      'DAY.CLOSE': batch('close'),
    }),
    resources: { mail: { rps: 20 } },
    chat: {
      async *processEnqueuedTurn({ message, signal }) {
        signal.throwIfAborted();
        yield message.toUpperCase();
      },
    },
  });
  expect(Object.keys(partsOf(app) ?? {})).toHaveLength(6);
});

it('a payload is what is said of it where it is used, and unknown where nothing is', () => {
  const app = defineApp({
    processors: [
      defineProcessor<Mail>({ type: 'said', process: ({ payload }) => payload.to }),
      defineProcessor({ type: 'silent', process: ({ payload }) => expectTypeOf(payload).toBeUnknown() }),
      { type: 'plain', process: ({ payload }) => expectTypeOf(payload).toBeUnknown() },
    ],
    dags: [
      defineDag('day', {
        load: task<Mail>({ run: ({ payload }) => payload.to }),
        sum: task({ after: ['load'], run: ({ inputs }) => expectTypeOf(inputs.load).toBeUnknown() }),
      }),
    ],
    routes: {
      'ORDER.PLACE': inline<{ price: number }>(({ payload }) => payload.price),
      'ORDER.CHECK': inline(({ payload }) => expectTypeOf(payload).toBeUnknown()),
      'MAIL.SEND': bulk<{ to: string[] }>(({ payload }) => ({
        jobs: payload.to.map((to) => ({ id: to, processorType: 'said', payload: { to } })),
      })),
      'DAY.CLOSE': batch<Mail>('day', ({ payload }) => ({ to: payload.to })),
    },
  });
  expect(partsOf(app)).toBeTypeOf('object');
});

it('the services are there for handlers', () => {
  const app = defineApp(({ bulk, pusher, orchestrator }) => ({
    routes: {
      'A.GROUP': inline(() => bulk.submitJob('t/g', { processorType: 'mail', payload: {} })),
      'A.BATCH': inline(() => pusher.start('close', 'monday')),
      'A.COMMAND': inline(() =>
        orchestrator.submit({ domain: 'A', eventType: 'GROUP', bizKey: 'x', payload: {} }),
      ),
    },
  }));
  expect(partsOf(app)).toBeTypeOf('function');
});

it('other shapes are refused when they are compiled', () => {
  const refused: readonly App[] = [
    // @ts-expect-error a processor has a type.
    defineApp({ processors: [{ process: () => 1 }] }),
    // @ts-expect-error it is a list.
    defineApp({ processors: mail }),
    // @ts-expect-error a processor is no function.
    defineApp({ processors: [() => 1] }),
    // @ts-expect-error an aggregator has to reduce.
    defineApp({ aggregators: [{ type: 'mail', map: () => 1 }] }),
    // @ts-expect-error a DAG is made by defineDag.
    defineApp({ dags: [{ load: task({ run: () => 1 }) }] }),
    // @ts-expect-error a handler alone is no route: inline makes one of it.
    defineApp({ routes: { 'ORDER.PLACE': () => 1 } }),
    // @ts-expect-error a rate is a number.
    defineApp({ resources: { mail: { rps: '20' } } }),
    // @ts-expect-error no such setting of a resource.
    defineApp({ resources: { mail: { rate: 20 } } }),
    // @ts-expect-error a chat answers piece by piece.
    defineApp({ chat: { processEnqueuedTurn: async () => 'all at once' } }),
    // @ts-expect-error no such part.
    defineApp({ workers: [mail] }),
    // @ts-expect-error nor of one that is made by a function.
    defineApp(() => ({ processors: [{}] })),
    // @ts-expect-error an application is defined at once.
    defineApp(async () => ({ processors: [mail] })),
    // @ts-expect-error there is no such service.
    defineApp(({ redis }) => ({ processors: redis })),
  ];
  expect(refused).toHaveLength(13);
});
