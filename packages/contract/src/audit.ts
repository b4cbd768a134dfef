import { z } from 'zod';
import { pageOf, paging, storableText, time } from './fields.js';

/** Which entries of the audit log. */
export const AuditQuery = z.strictObject({
  limit: paging.limit,
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the cursor of a page')
    .optional()
    .describe('Of the page before.'),
  route: storableText(100).optional().describe('The id of a route, such as cancelGroup.'),
  key: storableText(500).optional().describe('The name of a key.'),
});

/** Who changed what, and when. */
export const AuditEntry = z.object({
  id: z.string(),
  at: time,
  key: z.string().describe('Name of the key; local: a server without keys.'),
  role: z.string(),
  tenant: z.string().nullable().describe('Of the key; null: all.'),
  route: z.string().describe('The id of the route.'),
  method: z.string(),
  path: z.string(),
  params: z.record(z.string(), z.string()).describe('Of the path and of the query.'),
  body: z.string().nullable().describe('A summary of 4 KB at most, without secrets; null: there was none.'),
  instanceId: z.string().describe('Who served it.'),
  status: z
    .int()
    .nullable()
    .describe('What it was answered with; null: not known, it may or may not have happened.'),
});
/** Who changed what, and when. */
export type AuditEntry = z.infer<typeof AuditEntry>;

/** A part of the audit log, newest first. */
export const AuditPage = pageOf(AuditEntry);
/** A part of the audit log, newest first. */
export type AuditPage = z.infer<typeof AuditPage>;
