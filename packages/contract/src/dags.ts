import { z } from 'zod';
import { BATCHES } from './batches.js';
import { count, pageOf, paging, storableText, tenantField, time } from './fields.js';
import { ScheduleNameParam } from './params.js';
import { defineRoutes, json } from './route.js';

const mode = z.enum(['transactional', 'external']);
const onFailure = z.enum(['fail', 'skip', 'continue']);
const joinName = z.enum(['all', 'any', 'all-done']);

/** A task of a DAG to apply. Unknown fields are refused. */
export const DagTaskRequest = z.strictObject({
  handler: z
    .string()
    .optional()
    .describe('A handler of the application, as `dag.key` (that of the same DAG and key).'),
  after: z.array(z.string()).optional().describe('Keys of its dependencies; none for a root.'),
  join: z
    .union([joinName, z.strictObject({ atLeast: z.int().min(1) })])
    .optional()
    .describe('The dependencies that must end before it starts (all).'),
  mode: mode.optional().describe('Must be the mode of its handler.'),
  onFailure: onFailure.optional().describe('Effect of its failure on the rest (fail).'),
  timeoutMs: z.number().optional().describe('Attempt timeout (that of its handler).'),
  retries: z.int().min(0).optional().describe('Attempts after the first (those of its handler).'),
  backoffMs: z.number().optional().describe('Delay before the first retry (that of its handler).'),
});

/** A DAG to apply. Unknown fields are refused. */
export const ApplyDagRequest = z.strictObject({
  name: storableText(100).describe('Without . and /.'),
  tasks: z.record(z.string(), DagTaskRequest).describe('The tasks by key.'),
});

/** The response to an apply. */
export const AppliedDagBody = z.object({
  name: z.string(),
  version: z.int(),
  taskCount: count,
  created: z.boolean().describe('false: this definition was stored already.'),
});
export type AppliedDagBody = z.infer<typeof AppliedDagBody>;

/** A stored DAG, in the version that new batches use. */
export const DagBody = z.object({
  name: z.string(),
  version: z.int(),
  applied: z.boolean().describe('True if it was applied as data, for all instances.'),
  registeredAt: time,
  taskCount: count,
  tasks: z
    .array(
      z.object({
        key: z.string(),
        handler: z.string().describe('The handler that runs it, as `dag.key`.'),
        mode,
        join: z.union([joinName, z.object({ atLeast: z.int() })]),
        onFailure,
        conditional: z.boolean().describe('True if its handler has a condition.'),
        timeoutMs: z.number(),
        attemptsMax: count.describe('Maximum attempts, the first included.'),
        backoffMs: z.number(),
        after: z
          .array(z.string())
          .nullable()
          .describe('Keys of its dependencies; null if the DAG has too many edges to list.'),
      }),
    )
    .describe('The first thousand, each after its dependencies.'),
});
export type DagBody = z.infer<typeof DagBody>;

/** A page of DAGs, by name. */
export const DagPage = pageOf(DagBody);
export type DagPage = z.infer<typeof DagPage>;

const catchUp = z.enum(['one', 'all', 'none']);

/** A schedule to set. Unknown fields are refused. */
export const SetScheduleRequest = z.strictObject({
  name: ScheduleNameParam,
  dag: storableText(100).describe('The name of a DAG. Each batch uses the newest version.'),
  cron: storableText(200).describe(
    'Five fields (minute, hour, day of month, month, day of week), six with seconds first, seven with the year last, or @daily and the like.',
  ),
  timeZone: storableText(100).optional().describe('An IANA name (UTC).'),
  payload: z.unknown().optional().describe('The payload of its batches, any JSON ({}).'),
  catchUp: catchUp
    .optional()
    .describe('The periods missed while no instance ran that get a batch: one is the latest (one).'),
  paused: z.boolean().optional().describe('Unchanged by default; a new schedule is not paused.'),
  tenant: tenantField,
});

/** A schedule: starts batches of a DAG by the clock. */
export const ScheduleBody = z.object({
  tenant: z.string().describe("'' for no tenant."),
  name: z.string(),
  dag: z.string(),
  cron: z.string(),
  timeZone: z.string(),
  payload: z.unknown(),
  catchUp,
  paused: z.boolean(),
  nextAt: time.nullable().describe('The next period; null if there is none.'),
  lastAt: time.nullable().describe('The latest period with a batch.'),
  lastBatchId: z.string().nullable().describe('That batch, which may have been removed.'),
  failures: count.describe('Failed starts since the last successful one.'),
  error: z.string().nullable().describe('The error of the last failed start.'),
  createdAt: time,
  updatedAt: time,
});
export type ScheduleBody = z.infer<typeof ScheduleBody>;

/** A page of schedules, by tenant and name. */
export const SchedulePage = pageOf(ScheduleBody);
export type SchedulePage = z.infer<typeof SchedulePage>;

/** The schedule that was removed. */
export const RemovedScheduleBody = z.object({ tenant: z.string(), name: z.string() });
export type RemovedScheduleBody = z.infer<typeof RemovedScheduleBody>;

export const DAG_ROUTES = defineRoutes(BATCHES, {
  applyDag: {
    summary: 'Apply a DAG',
    description:
      'Stores a DAG whose tasks run with handlers of the application. All instances start new batches from it; running batches keep theirs. ' +
      'The same definition is the same version. Safe to repeat.',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    body: ApplyDagRequest,
    ok: {
      200: json('This definition was stored already and is in use', AppliedDagBody),
      201: json('Stored as a new version, which is in use', AppliedDagBody),
    },
    fails: ['BATCH_TOO_LARGE', 'DAG_INVALID'],
  },
  listDags: {
    summary: 'List DAGs',
    description:
      'By name, each in the version that new batches use. A page of DAGs with many tasks is shorter than its limit.',
    tenancy: 'open',
    query: z.strictObject(paging),
    ok: DagPage,
  },
  setSchedule: {
    summary: 'Set a schedule',
    description:
      'Creates a schedule, or changes the one with this name. The next period stays if cron and time zone do. Safe to repeat.',
    role: 'admin',
    audited: true,
    body: SetScheduleRequest,
    ok: ScheduleBody,
    fails: ['ID_INVALID', 'PARAMETER_INVALID', 'DAG_NOT_FOUND', 'BATCH_TOO_LARGE', 'SCHEDULE_INVALID'],
  },
  listSchedules: {
    summary: 'List schedules',
    description: 'By tenant and name. A key that belongs to a tenant lists that tenant only.',
    query: z.strictObject({
      dag: storableText(100).optional(),
      tenant: tenantField,
      ...paging,
    }),
    ok: SchedulePage,
  },
  removeSchedule: {
    summary: 'Remove a schedule',
    description: 'It starts no more batches. The batches that it started stay.',
    role: 'admin',
    audited: true,
    query: z.strictObject({ tenant: tenantField }),
    ok: RemovedScheduleBody,
  },
});
