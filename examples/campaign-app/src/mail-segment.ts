import { type BulkActionService, type GroupResult, hasEnded } from '@millrace/bulk-action';
import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import type { TaskContext } from '@millrace/outbox';
import { audienceOf, type Campaign } from './audience.js';

/** What a step of the batch ends with. */
export interface SegmentReport {
  readonly total: number;
  readonly sent: number;
  /** Mails that were not sent, by error code. */
  readonly failed: Readonly<Record<string, number>>;
  readonly cents: number;
}

/** What a step needs besides its context. */
interface Mailing {
  readonly bulk: BulkActionService;
  readonly segment: string;
  readonly waitMs: number;
}

/**
 * Mails a segment. Whoever runs it after a crash finds the group again, by a name that is the same at every try, and hands in only what is missing.
 */
export async function mailSegment(
  { bulk, segment, waitMs }: Mailing,
  { payload, batch: { tenant, traceparent }, idempotencyKey, signal }: TaskContext<Campaign>,
): Promise<SegmentReport> {
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
  const { cents } = (data ?? { cents: 0 }) as { cents: number };
  return { total, sent: success, failed: failedByCode, cents };
}

const unlessMissing = (error: { readonly code?: unknown }): undefined => {
  if (error.code !== 'GROUP_NOT_FOUND') throw error;
};

/** The result of a group. It may take hours, a slot of the outbox must not: after a while the step says "not yet", and comes again. */
async function resultOf(
  bulk: BulkActionService,
  groupId: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<GroupResult> {
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  // Events are hints that may be lost, so the wait has an end. The look comes after the subscription, so that no end falls between them.
  const unsubscribe = bulk.subscribe((event) => {
    if (event.groupId === groupId && hasEnded(event.status)) wake();
  });
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
