import { z } from 'zod';

/** Who a caller is, and what it may do here. */
export const CallerBody = z.object({
  name: z.string().describe('Of its key.'),
  role: z.enum(['read', 'operate', 'admin']),
  tenant: z.string().nullable().describe('The one tenant that the key is limited to; null: all.'),
  version: z.string().describe('Of the server.'),
  embedded: z.boolean().describe('Whether the server is one process that needs nothing else.'),
});
/** Who a caller is, and what it may do here. */
export type CallerBody = z.infer<typeof CallerBody>;

/** The state of something that a server needs. */
export const HealthCheck = z.object({
  name: z.string(),
  ok: z.boolean(),
  message: z
    .string()
    .nullable()
    .describe(
      'What is wrong, and what to do; of one that is well, what could not be looked at. null without a key that is for all tenants.',
    ),
  since: z.iso.datetime().nullable().describe('When it was first seen so; null: it is well.'),
});
/** The state of something that a server needs. */
export type HealthCheck = z.infer<typeof HealthCheck>;

/** Whether a server can work. */
export const HealthBody = z.object({ ok: z.boolean(), checks: z.array(HealthCheck) });
/** Whether a server can work. */
export type HealthBody = z.infer<typeof HealthBody>;
