import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { type Clock, RateLimitedError, type Rng, sleep } from '@millrace/foundation';
import type { AppParts } from '../define-app.js';
import { CallPayload, DEMO_MS_MAX, readPayload, WorkPayload } from './payloads.js';
import { ThrottlingService } from './throttling-service.js';

/** What the demo's handlers take from outside. */
export interface DemoEnvironment {
  readonly clock: Clock;
  readonly rng: Rng;
}

const RETRY = { retries: 2, backoff: () => 250 };
const TIMEOUT_MS = DEMO_MS_MAX + 5_000;
/** Of those that fail sometimes: few enough that two retries nearly always end well. */
const FAILING_SHARE = 0.3;
/** Less than what a tenant's share of a small server would call it with. */
const SERVICE = { perSecond: 10, burst: 3 };

/** Why jobs die: three causes, so that their dead letters are three lines whatever their number. */
const CAUSES = [
  { code: 'CARD_EXPIRED', message: 'The card of customer {id} has expired' },
  { code: 'NO_SUCH_ADDRESS', message: 'Nobody lives at address {id}' },
  { code: 'LEDGER_LOCKED', message: 'The ledger of account {id} is locked' },
] as const;

/**
 * Who runs the demo's jobs: `demo.work` waits, and fails when asked to; `demo.call` calls a service that is easily too much for.
 */
export function demoProcessors({ clock, rng }: DemoEnvironment): NonNullable<AppParts['processors']> {
  const service = new ThrottlingService(clock, SERVICE);
  const work = async (ms: number, signal: AbortSignal) => {
    // Not even the wait for a timer: those who measure ask for no time at all.
    if (ms > 0 && !(await sleep(clock, ms, signal))) throw signal.reason;
  };
  return [
    defineProcessor({
      type: 'demo.work',
      timeoutMs: TIMEOUT_MS,
      retry: RETRY,
      async process({ id, payload }, { signal, attempt }) {
        const { ms, fail } = readPayload(WorkPayload, payload);
        await work(ms, signal);
        if (fail === 'always' || (fail === 'sometimes' && rng.next() < FAILING_SHARE)) return failure(id);
        return { ms, attempt };
      },
    }),
    defineProcessor({
      type: 'demo.call',
      resource: 'demo-service',
      timeoutMs: TIMEOUT_MS,
      retry: RETRY,
      async process({ payload }, { signal }) {
        const { ms } = readPayload(CallPayload, payload);
        if (!service.takes()) throw new RateLimitedError({ message: 'The demo service answered 429' });
        await work(ms, signal);
        return { ms };
      },
    }),
  ];
}

/** Who adds up the results of `demo.work`. */
export const demoAggregators = (): NonNullable<AppParts['aggregators']> => [
  defineAggregator<number, { readonly workedMs: number }>({
    type: 'demo.work',
    map: ({ data }) => (data as { readonly ms: number }).ms,
    async reduce(times) {
      let workedMs = 0;
      for await (const ms of times) workedMs += ms;
      return { workedMs };
    },
    numbers: (data) => ({ ms: (data as { readonly ms: number }).ms }),
  }),
];

/** The same job dies of the same cause at every try. */
function failure(id: string) {
  let sum = 0;
  for (const character of id) sum += character.charCodeAt(0);
  const { code, message } = CAUSES[sum % CAUSES.length] as (typeof CAUSES)[number];
  return {
    success: false,
    error: { code, message: message.replace('{id}', String(sum)), retryable: true },
  } as const;
}
