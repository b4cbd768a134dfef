import { z } from 'zod';
import { defineRoutes } from './route.js';
import {
  RemovedScheduleBody,
  RemoveScheduleQuery,
  ScheduleBody,
  ScheduleListQuery,
  ScheduleNameParam,
  SchedulePage,
  SetScheduleRequest,
} from './schedules.js';

/** Routes of schedules. */
export const SCHEDULE_ROUTES = defineRoutes(
  { tag: 'Batches', tenancy: 'own', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] },
  {
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
      role: 'read',
      query: ScheduleListQuery,
      ok: SchedulePage,
    },
    removeSchedule: {
      summary: 'Remove a schedule',
      description: 'It starts no more batches. The batches that it started stay.',
      role: 'admin',
      audited: true,
      params: z.object({ name: ScheduleNameParam }),
      query: RemoveScheduleQuery,
      ok: RemovedScheduleBody,
      fails: ['SCHEDULE_NOT_FOUND'],
    },
  },
);
