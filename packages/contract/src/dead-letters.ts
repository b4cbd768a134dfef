import { z } from 'zod';
import { GroupRef, JobRef, nextCursor, PAGE } from './bulk-fields.js';
import { count, time } from './fields.js';
import { JobBody } from './jobs.js';

/** The most dead letters that one request names by id. */
export const DEAD_LETTER_IDS_MAX = 200;

const signature = z
  .string()
  .min(1)
  .max(10_000)
  .describe('Type, code and message of a failure with numbers, ids and quotes masked.');

/** Which dead letters. */
export const DeadLetterQuery = z
  .strictObject({
    groupId: GroupRef.optional(),
    jobId: JobRef.optional().describe('Of the group given.'),
    signature: signature.optional(),
    groupBy: z.enum(['signature']).optional().describe('Counts them by cause instead; of a group, or all.'),
    ...PAGE,
  })
  .refine(({ jobId, groupId }) => jobId === undefined || groupId !== undefined, {
    path: ['jobId'],
    message: 'must come with its groupId',
  })
  .refine(
    ({ groupBy, jobId, signature, cursor }) =>
      groupBy === undefined || (jobId === undefined && signature === undefined && cursor === undefined),
    { path: ['groupBy'], message: 'takes groupId and limit only' },
  );

/** A job that failed for good, with a full copy of it. */
export const DeadLetterBody = z.object({
  job: JobBody,
  error: z.string(),
  code: z.string(),
  signature: z.string(),
  failedAt: time,
  retryCount: count,
});
/** A job that failed for good. */
export type DeadLetterBody = z.infer<typeof DeadLetterBody>;

/** Dead letters of one cause. */
export const DeadLetterSignatureBody = z.object({
  signature: z.string(),
  count,
  firstFailedAt: time.describe('The first failure among those that are still there.'),
  lastFailedAt: time,
  processorType: z.string().describe('Of the last one; the signature has its beginning.'),
  code: z.string().describe('Of the last one; the signature has its beginning.'),
  sample: z
    .object({ groupId: z.string(), jobId: z.string(), message: z.string().describe('With nothing masked.') })
    .describe('The last one.'),
});
/** Dead letters of one cause. */
export type DeadLetterSignatureBody = z.infer<typeof DeadLetterSignatureBody>;

/** Dead letters, newest first; or by cause, the most frequent first. */
export const DeadLetterPage = z.object({
  items: z.array(DeadLetterBody).optional(),
  cursor: nextCursor.optional(),
  signatures: z
    .array(DeadLetterSignatureBody)
    .optional()
    .describe('With groupBy=signature, instead of items.'),
});
/** Dead letters, newest first; or by cause. */
export type DeadLetterPage = z.infer<typeof DeadLetterPage>;

/** Which dead letters to move: by `ids`, by `groupId` or `signature` or both, or `all`. */
export const DeadLetterSelection = z
  .strictObject({
    ids: z
      .array(z.strictObject({ groupId: GroupRef, jobId: JobRef }))
      .min(1)
      .max(DEAD_LETTER_IDS_MAX)
      .optional(),
    groupId: GroupRef.optional(),
    signature: signature.optional(),
    all: z.literal(true).optional(),
    expectedCount: count.describe(
      'How many the caller has seen. When others are selected now, nothing is moved: COUNT_CHANGED. Never more than so many are moved.',
    ),
  })
  .refine(
    ({ ids, all, groupId, signature: cause }) =>
      [ids, all, groupId ?? cause].filter((way) => way !== undefined).length === 1,
    'must have one of ids, groupId or signature (or both), and all: true',
  )
  .meta({
    description: 'One of ids, groupId or signature (or both: one cause in one group), and all.',
    examples: [{ groupId: 'campaign-7', expectedCount: 12 }],
  });
/** Which dead letters to move. */
export type DeadLetterSelection = z.infer<typeof DeadLetterSelection>;

/** How many went back, or are gone. */
export const DeadLetterResponse = z.object({ count });
/** How many went back, or are gone. */
export type DeadLetterResponse = z.infer<typeof DeadLetterResponse>;
