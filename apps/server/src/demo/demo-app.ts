import { NonRetryableError, sleep } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { bulk } from '@millrace/orchestrator/bulk';
import { type DagDefinition, defineDag, type TaskContext, task } from '@millrace/outbox';
import type { AppParts } from '../define-app.js';
import {
  DEMO_MS_MAX,
  GreetPayload,
  MailPayload,
  readPayload,
  type SETTLE_STEPS,
  SettlePayload,
} from './payloads.js';
import { type DemoEnvironment, demoAggregators, demoProcessors } from './processors.js';

type Step = (typeof SETTLE_STEPS)[number];

/**
 * The application that is served beside the user's: small work of every kind, so that a server that knows nothing yet can be tried.
 */
export const demoApp = (environment: DemoEnvironment) =>
  ({
    processors: demoProcessors(environment),
    aggregators: demoAggregators(),
    dags: [settleDag(environment)],
    routes: demoRoutes(environment),
  }) as const satisfies AppParts;

/** load → three branches → join → report; the step that `fail` names does not succeed. */
function settleDag({ clock }: DemoEnvironment): DagDefinition {
  const step = (key: Step, after: readonly Step[], result: (inputs: Inputs) => unknown) =>
    [
      key,
      task({
        mode: 'external',
        after,
        retry: { retries: 1 },
        backoffMs: 200,
        async run({ payload, inputs, signal }: TaskContext<unknown, Inputs>) {
          const { ms, fail } = readPayload(SettlePayload, payload);
          if (!(await sleep(clock, ms, signal))) throw signal.reason;
          if (fail === key) throw new NonRetryableError(`${key} was asked to fail`);
          return result(inputs);
        },
      }),
    ] as const;
  const share = (of: number) => (inputs: Inputs) => Math.round((inputs.load as number) * of);
  return defineDag('demo-settle', [
    step('load', [], () => 1_000),
    step('eur', ['load'], share(0.5)),
    step('gbp', ['load'], share(0.2)),
    step('usd', ['load'], share(0.3)),
    step('join', ['eur', 'gbp', 'usd'], ({ eur, gbp, usd }) => Number(eur) + Number(gbp) + Number(usd)),
    step('report', ['join'], ({ join }) => ({ settled: join })),
  ]);
}

type Inputs = Readonly<Record<string, unknown>>;

const demoRoutes = ({ clock }: DemoEnvironment) =>
  defineRoutes({
    'DEMO.GREET': inline(
      async ({ payload }, { signal }) => {
        const { name, ms } = readPayload(GreetPayload, payload);
        if (ms > 0 && !(await sleep(clock, ms, signal))) throw signal.reason;
        return { greeting: `Hello, ${name}` };
      },
      { timeoutMs: DEMO_MS_MAX + 5_000, idempotent: true },
    ),
    'DEMO.MAIL': bulk(
      ({ payload }) => {
        const { count, ...work } = readPayload(MailPayload, payload);
        return {
          jobs: Array.from({ length: count }, (_, n) => ({
            id: `mail-${n + 1}`,
            processorType: 'demo.work',
            payload: work,
          })),
        };
      },
      { idempotent: true },
    ),
    'DEMO.CLOSE': batch('demo-settle', undefined, { idempotent: true }),
  });
