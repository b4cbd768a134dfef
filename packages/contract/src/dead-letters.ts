import { z } from 'zod';
import { bulkCursor, bulkPaging, count, idText, time } from './fields.js';
import { BULK, JobBody } from './jobs.js';
import { GroupRef, JobRef } from './params.js';
import { defineRoutes } from './route.js';

/** Maximum number of dead letters that one request names by id. */
export const DEAD_LETTER_IDS_MAX = 200;

const signature = idText(10_000, 'Type, code and message of a failure, with numbers, ids and quotes masked.');

/** A dead letter: a job that failed and will not be retried, with its last error. */
export const DeadLetterBody = z.object({
  job: JobBody,
  error: z.string(),
  code: z.string(),
  signature: z.string(),
  failedAt: time,
  retryCount: count,
});
export type DeadLetterBody = z.infer<typeof DeadLetterBody>;

/** The dead letters with one signature. */
export const DeadLetterSignatureBody = z.object({
  signature: z.string(),
  count,
  firstFailedAt: time.describe('The first failure among those that still exist.'),
  lastFailedAt: time,
  processorType: z.string().describe('Processor of the last one; the signature holds its beginning.'),
  code: z.string().describe('Code of the last one; the signature holds its beginning.'),
  sample: z
    .object({ groupId: z.string(), jobId: z.string(), message: z.string().describe('Without masks.') })
    .describe('The last one.'),
});
export type DeadLetterSignatureBody = z.infer<typeof DeadLetterSignatureBody>;

/** A page of dead letters, newest first; or signatures, the most frequent first. */
export const DeadLetterPage = z.object({
  items: z.array(DeadLetterBody).optional(),
  cursor: bulkCursor.optional(),
  signatures: z
    .array(DeadLetterSignatureBody)
    .optional()
    .describe('With groupBy=signature, instead of items.'),
});
export type DeadLetterPage = z.infer<typeof DeadLetterPage>;

/** The dead letters to redrive or purge: by `ids`, by `groupId` or `signature` or both, or `all`. */
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
      'The number that the caller has seen. With another number now nothing is changed (COUNT_CHANGED). Never more than this are changed.',
    ),
  })
  .refine(
    ({ ids, all, groupId, signature: cause }) =>
      [ids, all, groupId ?? cause].filter((way) => way !== undefined).length === 1,
    'must have one of ids, groupId or signature (or both), and all: true',
  )
  .meta({
    description: 'One of ids, groupId or signature (or both: one signature in one group), and all.',
    examples: [{ groupId: 'campaign-7', expectedCount: 12 }],
  });
export type DeadLetterSelection = z.infer<typeof DeadLetterSelection>;

/** The number of dead letters that were redriven or purged. */
export const DeadLetterResponse = z.object({ count });
export type DeadLetterResponse = z.infer<typeof DeadLetterResponse>;

export const DEAD_LETTER_ROUTES = defineRoutes(BULK, {
  listDeadLetters: {
    summary: 'List dead letters',
    description:
      'Jobs that failed and will not be retried, newest first; or their number by signature. A key that belongs to a tenant lists that tenant only.',
    query: z
      .strictObject({
        groupId: GroupRef.optional(),
        jobId: JobRef.optional().describe('A job of groupId.'),
        signature: signature.optional(),
        groupBy: z
          .enum(['signature'])
          .optional()
          .describe('Counts them by signature instead, in groupId or in all groups.'),
        ...bulkPaging,
      })
      .refine(({ jobId, groupId }) => jobId === undefined || groupId !== undefined, {
        path: ['jobId'],
        message: 'must come with its groupId',
      })
      .refine(
        ({ groupBy, jobId, signature, cursor }) =>
          groupBy === undefined || (jobId === undefined && signature === undefined && cursor === undefined),
        { path: ['groupBy'], message: 'takes groupId and limit only' },
      ),
    ok: DeadLetterPage,
    fails: ['GROUP_NOT_FOUND'],
  },
  redriveDeadLetters: {
    audited: true,
    summary: 'Redrive dead letters',
    description: 'They run again with all retries. A group that has ended opens its next round.',
    body: DeadLetterSelection,
    ok: DeadLetterResponse,
    fails: ['GROUP_NOT_FOUND', 'COUNT_CHANGED'],
  },
  purgeDeadLetters: {
    audited: true,
    summary: 'Purge dead letters',
    description: 'Deletes dead letters. Their jobs stay failed.',
    body: DeadLetterSelection,
    ok: DeadLetterResponse,
    fails: ['GROUP_NOT_FOUND', 'COUNT_CHANGED'],
  },
});
