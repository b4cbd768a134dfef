import { setTimeout as wait } from 'node:timers/promises';
import type { JobContext, ProcessorAnswer } from '@millrace/bulk-action';

/** What a mail cost. */
export interface Sent {
  readonly cents: number;
}

/**
 * Sends one mail. It may be called again for a mail that was sent, when the process died before that was written down: the key is the same
 * then, so that the mail service can tell.
 */
export type SendMail = (customer: number, context: JobContext) => Promise<Sent | ProcessorAnswer<Sent>>;

/** Stands for a mail service: takes a few milliseconds, and every tenth address does not exist. */
export const sendMail: SendMail = async (customer, { signal }) => {
  await wait(5, undefined, { signal });
  if (customer % 10 === 7)
    return { success: false, error: { message: 'No such address', code: 'BOUNCED', retryable: false } };
  return { cents: 2 };
};
