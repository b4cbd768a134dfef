import { z } from 'zod';
import { paging } from './fields.js';

/* Fields that several bodies of the bulk part have. Ranges that a server can set are checked there. */

/** Of the ids of groups, as a URL or a body writes them. */
const REF_CHARACTERS_MAX = 257;
const CURSOR_CHARACTERS_MAX = 20_000;

/** A point in time as a caller gives it. */
export const givenTime = z.iso.datetime({ offset: true });
/** A number that is not negative. */
export const amount = z.number().min(0);

/** The id of a group. */
export const GroupRef = z
  .string()
  .min(1)
  .max(REF_CHARACTERS_MAX)
  .describe(
    "1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':', '-'; with `tenant/` before it for a group of that tenant (`%2F` in a URL).",
  );
/** The id of a job in its group. */
export const JobRef = z
  .string()
  .min(1)
  .max(128)
  .describe("1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':', '-'.");
/** The id of a fairness unit. */
export const TenantRef = z
  .string()
  .min(1)
  .max(128)
  .describe('The fairness unit: those who share what there is by their weights.');

/** What every list may be asked. */
export const PAGE = {
  limit: paging.limit,
  cursor: z.string().min(1).max(CURSOR_CHARACTERS_MAX).optional().describe('Of the page before.'),
};

/** Where the next page is. */
export const nextCursor = z
  .string()
  .nullable()
  .describe(
    'Ask again with it for the next page; null: there is none. A page may be short and yet not the last.',
  );

const positive = z.number().positive();
const whole = z.int().min(1);

/** Weight and limits, as they are given. */
export const GIVEN_LIMITS = {
  weight: positive.describe('Its part against others (1); twice the weight is twice the part.'),
  rps: positive.describe('Starts per second.'),
  burst: whole.describe('How many starts may come at once (a tenth of rps, at least 1).'),
  concurrency: whole.describe('Most jobs that are ready or running at once.'),
};

/** Weight and limits, as they are now. */
export const LIMITS = {
  weight: z.number(),
  rps: z.number().nullable().describe('Starts per second; null: no limit.'),
  burst: z.number().nullable(),
  concurrency: z.number().nullable().describe('Jobs at once; null: no limit.'),
};
