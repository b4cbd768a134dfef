import { NonRetryableError } from '@millrace/foundation';
import { z } from 'zod';

/** The longest that one step of the demo can be asked to take. */
export const DEMO_MS_MAX = 60_000;
/** The most jobs of one DEMO.MAIL. */
const DEMO_MAIL_MAX = 10_000;

const ms = z.int().min(0).max(DEMO_MS_MAX);

/** What a job of `demo.work` is asked to do. */
export const WorkPayload = z.strictObject({
  ms: ms.default(20),
  fail: z.enum(['never', 'sometimes', 'always']).default('never'),
});

/** What a job of `demo.call` is asked to do. */
export const CallPayload = z.strictObject({ ms: ms.default(20) });

/** The steps of the DAG `demo-settle`. */
export const SETTLE_STEPS = ['load', 'eur', 'gbp', 'usd', 'join', 'report'] as const;

/** What a batch of `demo-settle` is asked to do. */
export const SettlePayload = z.strictObject({
  ms: ms.max(20_000).default(50),
  fail: z.enum(SETTLE_STEPS).optional(),
});

/** What DEMO.GREET is asked to do. */
export const GreetPayload = z.strictObject({
  name: z.string().min(1).max(100).default('world'),
  ms: ms.default(0),
});

/** What DEMO.MAIL is asked to do. */
export const MailPayload = z.strictObject({
  count: z.int().min(1).max(DEMO_MAIL_MAX).default(100),
  ...WorkPayload.shape,
});

/**
 * A payload of the demo, checked.
 * @param schema - what it must be.
 * @param payload - as somebody sent it; nothing at all means the defaults.
 * @throws NonRetryableError that says what is wrong with it.
 */
export function readPayload<S extends z.ZodType>(schema: S, payload: unknown): z.output<S> {
  const read = schema.safeParse(payload ?? {});
  if (read.success) return read.data;
  throw new NonRetryableError(`The payload cannot be used: ${z.prettifyError(read.error)}`);
}
