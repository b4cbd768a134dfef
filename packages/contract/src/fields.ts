import { z } from 'zod';

/** The most items on one page of a list, and how many unless asked. */
export const PAGE_SIZE_MAX = 200;
export const PAGE_SIZE_DEFAULT = 50;

// With the flag `u` a surrogate matches only where it stands alone: no store keeps it, and none keeps NUL.
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** A text that every store can keep. */
export const storableText = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    // zod counts characters as JSON Schema does; the parts count as JavaScript does, where some are two.
    .refine(
      (value) => value.length <= max,
      `must be at most ${max} characters, emoji and the like counted twice`,
    )
    .refine((value) => !UNSTORABLE.test(value), 'must not hold NUL or half of a surrogate pair');

/** A storable text that is not only spaces. */
export const keyText = (max: number) => storableText(max).regex(/\S/, 'must not be blank');

/** The longest name of a tenant. */
const TENANT_LENGTH_MAX = 500;

/** Whose it is, where a caller may say so. */
export const tenantField = storableText(TENANT_LENGTH_MAX, 0)
  .regex(/^[^/]*$/, 'must not hold /')
  .optional()
  .describe("Whose; '' for nobody's. For keys that are not limited to a tenant; all others mean their own.");

/** A number of things. */
export const count = z.int().min(0);

/** A time, ISO 8601. */
export const time = z.iso.datetime();

/** What every list may be asked: how much, and where to go on. */
export const paging = {
  limit: z.coerce.number().int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT),
  cursor: storableText(2_000).optional().describe('Of the page before.'),
} as const;

/** A part of a list. */
export const pageOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    cursor: z.string().nullable().describe('Ask again with it for the next page; null: there is none.'),
  });
