import { z } from 'zod';
import { idText, storableText } from './fields.js';

/** `tenant/id`, both of 128 characters. */
const GROUP_REF_CHARACTERS_MAX = 257;

export const GroupRef = idText(
  GROUP_REF_CHARACTERS_MAX,
  "1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':', '-'; `tenant/` before it for a group of that tenant (`%2F` in a URL).",
);

export const JobRef = idText(128, "1 to 128 characters of A-Z, a-z, 0-9, '.', '_', ':', '-'.");

export const TenantRef = idText(128, 'The fairness unit: units share the workers by their weights.');

/** The id of a batch. */
export const BatchIdParam = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the id of a batch')
  .describe('The id of a batch, a number as text.');

/** The key of a task. */
export const TaskKeyParam = storableText(200).describe('The key of a task in its batch.');

/** The name of a schedule. */
export const ScheduleNameParam = storableText(200).describe('The name of a schedule in its tenant.');

/** The id of an operation. */
export const OpIdParam = z.guid().describe('The id of an operation, a UUID.');

/** The id of an existing session. */
export const ChatSessionIdParam = idText(
  1_000,
  'The id of a session; tenant/id for keys that are not limited to a tenant.',
);

/** The id of a turn. */
export const ChatTaskIdParam = idText(200, 'The id of a turn.');

/** The parameters of paths, each with the codes that every route with it can fail with. */
export const PARAMS = {
  groupId: { schema: GroupRef, fails: ['GROUP_NOT_FOUND'] },
  jobId: { schema: JobRef, fails: ['JOB_NOT_FOUND'] },
  // The limits of an unknown unit can be changed.
  tenantId: { schema: TenantRef, fails: [] },
  batchId: { schema: BatchIdParam, fails: ['BATCH_NOT_FOUND'] },
  taskKey: { schema: TaskKeyParam, fails: ['TASK_NOT_FOUND'] },
  name: { schema: ScheduleNameParam, fails: ['SCHEDULE_NOT_FOUND'] },
  opId: { schema: OpIdParam, fails: ['OPERATION_NOT_FOUND'] },
  sessionId: { schema: ChatSessionIdParam, fails: ['ID_INVALID', 'CHAT_SESSION_NOT_FOUND'] },
  taskId: { schema: ChatTaskIdParam, fails: ['CHAT_TASK_NOT_FOUND'] },
} as const;

type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The schema of the parameters of a path; undefined without any. */
export type ParamsOf<Path> = [NamesIn<Path>] extends [never]
  ? undefined
  : z.ZodObject<{ [Name in NamesIn<Path> & keyof typeof PARAMS]: (typeof PARAMS)[Name]['schema'] }>;
