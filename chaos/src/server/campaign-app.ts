/*
 * The campaign of examples/, with a mail service that writes down what it does. Loaded by every process of the server.
 */

import { wait } from '@millrace/async-utils';
import type { JobContext } from '@millrace/bulk-action';
import { openLedger } from '@millrace/testkit/ledger';
import { defineApp } from 'millrace';
import {
  campaignDag,
  mailProcessor,
  priceAggregator,
  routes,
} from '../../../examples/campaign-app/dist/campaign.js';
import { fateOf } from './mails.js';

const ledger = openLedger(process.env.CHAOS_LEDGER ?? '');

async function sendMail(customer: number, { attempt, idempotencyKey: mail, signal }: JobContext) {
  const { ms, bounces, failsFirst, cents } = fateOf(customer);
  ledger.append({ kind: 'mailing', mail, customer, attempt });
  try {
    await wait(ms, { signal });
  } catch (error) {
    ledger.append({ kind: 'aborted', mail });
    throw error;
  }
  if (failsFirst && attempt === 1) {
    ledger.append({ kind: 'unanswered', mail });
    throw new Error('the mail service does not answer');
  }
  ledger.append({ kind: bounces ? 'bounced' : 'mailed', mail, customer, cents });
  if (bounces) {
    const error = { message: 'No such address', code: 'BOUNCED', retryable: false };
    return { success: false as const, error };
  }
  return { cents };
}

/** What is served. */
export const app = defineApp(({ bulk }) => ({
  processors: [mailProcessor(sendMail)],
  aggregators: [priceAggregator],
  dags: [campaignDag(bulk, { waitMs: 1000, backoffMs: 200 })],
  routes,
}));
