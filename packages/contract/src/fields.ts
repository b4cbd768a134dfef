import { z } from 'zod';

/** Maximum number of items on a page of a list. */
export const PAGE_SIZE_MAX = 200;

const TENANT_CHARACTERS_MAX = 500;
const CURSOR_CHARACTERS_MAX = 2_000;
/** A cursor of the bulk part holds a signature. */
const BULK_CURSOR_CHARACTERS_MAX = 20_000;

// With the flag `u` a surrogate matches only where it stands alone. No store keeps it, and none keeps NUL.
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** A text that every store can keep. */
export const storableText = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    // zod counts characters as JSON Schema does. The packages count as JavaScript does, where some are two.
    .refine(
      (value) => value.length <= max,
      `must be at most ${max} characters, emoji and the like counted twice`,
    )
    .refine((value) => !UNSTORABLE.test(value), 'must not hold NUL or half of a surrogate pair');

/** A text of at most `max` characters that is only compared with stored ones. */
export const idText = (max: number, description: string) => z.string().min(1).max(max).describe(description);

/** A storable text that is not only spaces. */
export const keyText = (max: number) => storableText(max).regex(/\S/, 'must not be blank');

/** The tenant of a request, for callers that may choose one. */
export const tenantField = storableText(TENANT_CHARACTERS_MAX, 0)
  .regex(/^[^/]*$/, 'must not hold /')
  .optional()
  .describe(
    "The tenant; '' for no tenant. For keys that are not limited to a tenant; with other keys it is their own.",
  );

export const count = z.int().min(0);

/** A number that is not negative, such as a rate or milliseconds. */
export const amount = z.number().min(0);

export const time = z.iso.datetime();

/** A time as a caller writes it. */
export const givenTime = z.iso.datetime({ offset: true });

export const pagingBy = (cursor: z.ZodString) => ({
  limit: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(50),
  cursor: cursor.optional().describe('The cursor of the previous page.'),
});

/** The query parameters of most lists. */
export const paging = pagingBy(storableText(CURSOR_CHARACTERS_MAX));

/** The query parameters of the lists of the bulk part. */
export const bulkPaging = pagingBy(z.string().min(1).max(BULK_CURSOR_CHARACTERS_MAX));

export const pageOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    cursor: z.string().nullable().describe('Gets the next page; null on the last one.'),
  });

export const bulkCursor = z
  .string()
  .nullable()
  .describe('Gets the next page; null on the last one. A page may be short without being the last.');

const weight = z
  .number()
  .positive()
  .describe('Weight of its share (1); twice the weight is twice the share.');
const rps = z.number().positive().describe('Starts per second.');
const burst = z.int().min(1).describe('Starts at the same time (a tenth of rps, at least 1).');
const concurrency = z.int().min(1).describe('Maximum number of jobs that are ready or running.');

/** Weight and limits in a request. The server checks the ranges that it can configure. */
export const limitFields = z.object({ weight, rps, burst, concurrency }).partial().shape;

/** Weight and limits in a change; null removes a limit. */
export const limitChanges = {
  weight: limitFields.weight,
  ...z.object({ rps: rps.nullable(), burst: burst.nullable(), concurrency: concurrency.nullable() }).partial()
    .shape,
};

/** Weight and limits in a response. */
export const limitsBody = {
  weight: z.number(),
  rps: z.number().nullable().describe('Starts per second; null means no limit.'),
  burst: z.number().nullable(),
  concurrency: z.number().nullable().describe('Jobs at the same time; null means no limit.'),
};

/** Reports whether a change request sets a field. */
export const changesSomething = (change: Readonly<Record<string, unknown>>): boolean =>
  Object.values(change).some((value) => value !== undefined);
