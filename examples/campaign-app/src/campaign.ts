// A campaign from the command to its outcome. MAIL.CAMPAIGN starts a batch: select the audience, mail each segment in bulk, report. The
// parts are the same whoever runs them: a server of Millrace (app.ts), or an application on NestJS (nest.ts).
import { type BulkActionService, defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { defineDag, task } from '@millrace/outbox';
import { audienceOf, type Campaign, SEGMENTS } from './audience.js';
import { mailSegment, type SegmentReport } from './mail-segment.js';
import type { SendMail, Sent } from './mail-service.js';

/** The most customers of one campaign. */
const CUSTOMERS_MAX = 300_000;

/** What the mail service stands, over all processes. */
export const resources = { 'mail-service': { rps: 2_000, concurrency: 100 } };

/** Sends one mail: a job of a group. */
export const mailProcessor = (send: SendMail) =>
  defineProcessor<{ readonly customer: number }, Sent>({
    type: 'campaign.mail',
    resource: 'mail-service',
    process: ({ payload }, context) => send(payload.customer, context),
  });

/** Adds up what the mails of a group cost. */
export const priceAggregator = defineAggregator({
  type: 'campaign.mail',
  map: ({ data }) => (data as Sent).cents,
  async reduce(prices) {
    let cents = 0;
    for await (const price of prices) cents += price;
    return { cents };
  },
});

/** How long a step waits for its group before it gives its slot back, and how soon it comes again for the first time. */
const PATIENCE = { waitMs: 5_000, backoffMs: 2_000 };

/** select → one step per segment → report. */
export const campaignDag = (bulk: BulkActionService, { waitMs, backoffMs } = PATIENCE) =>
  defineDag('campaign', {
    select: task<Campaign>({ run: ({ payload }) => countSegments(payload) }),
    ...Object.fromEntries(
      SEGMENTS.map((segment) => [
        segment,
        task<Campaign>({
          after: ['select'],
          // It calls another system, so no transaction is open while it waits.
          mode: 'external',
          // "Not yet" is a retry: after 2 s, 4 s, 6 s … three hours in all. It is never late by more than a few percent of a long wait.
          retry: { retries: 100, backoff: 'linear' },
          backoffMs,
          run: (context) => mailSegment({ bulk, segment, waitMs }, context),
        }),
      ]),
    ),
    report: task<Campaign, Record<string, SegmentReport>>({
      after: SEGMENTS,
      run: ({ inputs }) => addUp(inputs),
    }),
  });

/** Where commands go. */
export const routes = defineRoutes({ 'MAIL.CAMPAIGN': batch('campaign', undefined, { idempotent: true }) });

function countSegments({ customers }: Campaign): Record<string, number> {
  if (!Number.isInteger(customers) || customers < 1 || customers > CUSTOMERS_MAX)
    throw new NonRetryableError(`customers must be a whole number from 1 to ${CUSTOMERS_MAX}`);
  return Object.fromEntries(SEGMENTS.map((segment) => [segment, audienceOf(segment, customers).length]));
}

function addUp(segments: Record<string, SegmentReport>) {
  const sum = (of: (segment: SegmentReport) => number) =>
    Object.values(segments).reduce((total, segment) => total + of(segment), 0);
  return {
    mails: sum(({ total }) => total),
    sent: sum(({ sent }) => sent),
    bounced: sum(({ failed }) => failed.BOUNCED ?? 0),
    cents: sum(({ cents }) => cents),
    segments,
  };
}
