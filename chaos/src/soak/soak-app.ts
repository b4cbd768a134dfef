/*
 * Beside the demo that every server has: payments that write the ledger before and after. Loaded by every process.
 */

import { wait } from '@millrace/async-utils';
import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { openLedger } from '@millrace/testkit/ledger';
import { defineApp } from 'millrace';
import { paymentOf } from './payments.js';
import { SOAK_PROCESSOR } from './settings.js';

const ledger = openLedger(process.env.CHAOS_LEDGER ?? '');

const payments = defineProcessor({
  type: SOAK_PROCESSOR,
  retry: { retries: 2, backoff: () => 100 },
  async process({ payload }: { payload: { group: string; n: number } }, { attempt, signal }) {
    const { group, n } = payload;
    const { ms, cents, refused, failsFirst } = paymentOf(n);
    ledger.append({ kind: 'paying', group, n });
    await wait(ms, { signal });
    if (failsFirst && attempt === 1) throw new Error('the bank does not answer');
    ledger.append({ kind: refused ? 'refused' : 'paid', group, n });
    if (refused) {
      const error = { message: 'No such account', code: 'NO_ACCOUNT', retryable: false };
      return { success: false as const, error };
    }
    return { cents };
  },
});

/** Adds the cents up twice: at once with each job, and over all results at the end. */
const sums = defineAggregator<number, { readonly cents: number }>({
  type: SOAK_PROCESSOR,
  map: ({ data }) => (data as { readonly cents: number }).cents,
  async reduce(all) {
    let cents = 0;
    for await (const one of all) cents += one;
    return { cents };
  },
  numbers: (data) => ({ cents: (data as { readonly cents: number }).cents }),
});

/** What is served. */
export const app = defineApp({ processors: [payments], aggregators: [sums], dags: [], routes: {} });
