/*
 * The campaign of examples/, with a mail service that writes down what it does. Loaded by every process of the server.
 */

import { wait } from '@millrace/async-utils';
import type { JobContext } from '@millrace/bulk-action';
import { openLedger } from '@millrace/testkit';
import type { App } from 'millrace';
import { fateOf } from './mails.js';

type SendMail = (customer: number, context: JobContext) => Promise<unknown>;

interface CampaignModule {
  campaignApp(sendMail: SendMail, patience: { readonly waitMs: number; readonly backoffMs: number }): App;
}

const example = new URL('../../../examples/campaign-app/campaign.mjs', import.meta.url).href;
const { campaignApp } = (await import(example)) as CampaignModule;
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
  if (bounces)
    return { success: false, error: { message: 'No such address', code: 'BOUNCED', retryable: false } };
  return { cents };
}

/** What is served. */
export const app = campaignApp(sendMail, { waitMs: 1000, backoffMs: 200 });
