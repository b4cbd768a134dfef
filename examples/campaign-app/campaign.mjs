// A campaign from the command to its outcome. MAIL.CAMPAIGN starts a batch: select the audience, mail each segment in bulk, report. A step
// that mails hands a group of jobs to bulk-action and ends with the group's result; the operation ends with the report.
import { defineAggregator, defineProcessor, hasEnded } from '@millrace/bulk-action';
import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import { defineRoutes } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { defineDag, task } from '@millrace/outbox';
import { defineApp } from 'millrace';

const SEGMENTS = ['gold', 'silver', 'new'];

/** The most customers of one campaign. */
const CUSTOMERS_MAX = 300_000;
/** How long a step waits for its group before it gives its slot back, and how soon it comes again for the first time. */
const PATIENCE = { waitMs: 5_000, backoffMs: 2_000 };

/** Who is in a segment. In an application of your own: a query. */
const audienceOf = (segment, customers) =>
  Array.from({ length: customers }, (_, n) => n).filter(
    (n) => n % SEGMENTS.length === SEGMENTS.indexOf(segment),
  );

/**
 * The application.
 * @param sendMail - sends one mail: `(customer, { idempotencyKey, signal }) => { cents }`. It may be called again for a mail that was sent, when
 * the process died before that was written down; the key is the same then, so that the mail service can tell.
 * @param patience - see PATIENCE.
 */
export const campaignApp = (sendMail, patience = PATIENCE) =>
  defineApp(({ bulk }) => ({
    processors: [
      defineProcessor({
        type: 'campaign.mail',
        resource: 'mail-service',
        process: ({ payload }, context) => sendMail(payload.customer, context),
      }),
    ],
    aggregators: [
      defineAggregator({
        type: 'campaign.mail',
        map: ({ data }) => data.cents,
        async reduce(prices) {
          let cents = 0;
          for await (const price of prices) cents += price;
          return { cents };
        },
      }),
    ],
    dags: [
      defineDag('campaign', {
        select: task({ run: ({ payload }) => countSegments(payload) }),
        ...Object.fromEntries(
          SEGMENTS.map((segment) => [
            segment,
            task({
              after: ['select'],
              // It calls another system, so no transaction is open while it waits.
              mode: 'external',
              // "Not yet" is a retry: after 2 s, 4 s, 6 s … three hours in all. It is never late by more than a few percent of a long wait.
              retry: { retries: 100, backoff: 'linear' },
              backoffMs: patience.backoffMs,
              run: (context) => mailSegment({ bulk, segment, waitMs: patience.waitMs }, context),
            }),
          ]),
        ),
        report: task({ after: SEGMENTS, run: ({ inputs }) => addUp(inputs) }),
      }),
    ],
    routes: defineRoutes({ 'MAIL.CAMPAIGN': batch('campaign', undefined, { idempotent: true }) }),
  }));

function countSegments(payload) {
  const customers = payload?.customers;
  if (!Number.isInteger(customers) || customers < 1 || customers > CUSTOMERS_MAX)
    throw new NonRetryableError(`customers must be a whole number from 1 to ${CUSTOMERS_MAX}`);
  return Object.fromEntries(SEGMENTS.map((segment) => [segment, audienceOf(segment, customers).length]));
}

/**
 * Mails a segment. Whoever runs it after a crash finds the group again, by a name that is the same at every try, and hands in only what is missing.
 */
async function mailSegment(
  { bulk, segment, waitMs },
  { payload, batch: { tenant, traceparent }, idempotencyKey, signal },
) {
  const groupId = tenant === '' ? idempotencyKey : `${tenant}/${idempotencyKey}`;
  const group = await bulk.getGroup(groupId).catch(unlessMissing);
  if (!group?.sealed) {
    const jobs = audienceOf(segment, payload.customers).map((customer) => ({
      id: `customer-${customer}`,
      processorType: 'campaign.mail',
      payload: { customer },
    }));
    await bulk.submitBulk({ id: groupId, traceparent }, jobs);
  }
  const result = await resultOf(bulk, groupId, { waitMs, signal });
  const { status, code, total, success, failedByCode, data } = result;
  if (status !== 'COMPLETED') throw new NonRetryableError(`The mails to ${segment} ended ${code ?? status}`);
  return { total, sent: success, failed: failedByCode, cents: data?.cents ?? 0 };
}

const unlessMissing = (error) => {
  if (error.code !== 'GROUP_NOT_FOUND') throw error;
};

/** The result of a group. It may take hours, a slot of the outbox must not: after a while the step says "not yet", and comes again. */
async function resultOf(bulk, groupId, { waitMs, signal }) {
  let wake;
  const woken = new Promise((resolve) => {
    wake = resolve;
  });
  // Events are hints that may be lost, so the wait has an end. The look comes after the subscription, so that no end falls between them.
  const unsubscribe = bulk.subscribe(
    (event) => event.groupId === groupId && hasEnded(event.status) && wake(),
  );
  const timer = setTimeout(wake, waitMs);
  signal.addEventListener('abort', wake, { once: true });
  try {
    const result = await bulk.getResult(groupId);
    if (result) return result;
    await woken;
  } finally {
    clearTimeout(timer);
    unsubscribe();
  }
  const late = await bulk.getResult(groupId);
  if (late) return late;
  throw new RateLimitedError({ message: `${groupId} has not ended yet` });
}

function addUp(segments) {
  const all = Object.values(segments);
  const sum = (of) => all.reduce((total, segment) => total + of(segment), 0);
  return {
    mails: sum(({ total }) => total),
    sent: sum(({ sent }) => sent),
    bounced: sum(({ failed }) => failed.BOUNCED ?? 0),
    cents: sum(({ cents }) => cents),
    segments,
  };
}
