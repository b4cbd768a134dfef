import { z } from 'zod';
import { count, pageOf, paging, storableText, tenantField, time } from './fields.js';

const catchUp = z.enum(['one', 'all', 'none']);

/** The name of a schedule. */
export const ScheduleNameParam = storableText(200).describe('The name of a schedule within its tenant.');

/** A schedule to set. Unknown fields are refused. */
export const SetScheduleRequest = z.strictObject({
  name: ScheduleNameParam,
  dag: storableText(100).describe('The name of a DAG; each batch takes the version of its time.'),
  cron: storableText(200).describe(
    'Five fields (minute, hour, day of month, month, day of week), six with seconds first, seven with the year last, or @daily and the like.',
  ),
  timeZone: storableText(100).optional().describe('An IANA name; UTC unless given.'),
  payload: z.unknown().optional().describe('Of its batches: anything JSON can carry; {} unless given.'),
  catchUp: catchUp
    .optional()
    .describe('Which of the periods that passed while nothing ran get a batch; the latest one unless given.'),
  paused: z.boolean().optional().describe('Unless given it stays as it is; a new one is not paused.'),
  tenant: tenantField,
});
/** A schedule to set. */
export type SetScheduleRequest = z.infer<typeof SetScheduleRequest>;

/** Batches of a DAG that start by the clock. */
export const ScheduleBody = z.object({
  tenant: z.string().describe("'' for none."),
  name: z.string(),
  dag: z.string(),
  cron: z.string(),
  timeZone: z.string(),
  payload: z.unknown(),
  catchUp,
  paused: z.boolean(),
  nextAt: time.nullable().describe('The period that comes next; null: none ever will.'),
  lastAt: time.nullable().describe('The latest period that got a batch.'),
  lastBatchId: z.string().nullable().describe('That batch; it may be gone by now.'),
  failures: count.describe('How often its batch could not be started since the last one that could.'),
  error: z.string().nullable().describe('Why.'),
  createdAt: time,
  updatedAt: time,
});
/** Batches of a DAG that start by the clock. */
export type ScheduleBody = z.infer<typeof ScheduleBody>;

/** What the list of schedules may be asked. Unknown parameters are refused. */
export const ScheduleListQuery = z.strictObject({
  dag: storableText(100).optional(),
  tenant: tenantField,
  ...paging,
});

/** Whose schedule is removed. Unknown parameters are refused. */
export const RemoveScheduleQuery = z.strictObject({ tenant: tenantField });

/** A part of the list of schedules, by tenant and name. */
export const SchedulePage = pageOf(ScheduleBody);
/** A part of the list of schedules, by tenant and name. */
export type SchedulePage = z.infer<typeof SchedulePage>;

/** The schedule that was removed. */
export const RemovedScheduleBody = z.object({ tenant: z.string(), name: z.string() });
/** The schedule that was removed. */
export type RemovedScheduleBody = z.infer<typeof RemovedScheduleBody>;
