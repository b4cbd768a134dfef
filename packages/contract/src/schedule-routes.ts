import { z } from 'zod';
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';
import {
  RemovedScheduleBody,
  RemoveScheduleQuery,
  ScheduleBody,
  ScheduleListQuery,
  ScheduleNameParam,
  SchedulePage,
  SetScheduleRequest,
} from './schedules.js';

const tag = 'Batches';

/** Everything that can be asked about schedules. */
export const SCHEDULE_ROUTES = {
  setSchedule: defineRoute('setSchedule', {
    tag,
    summary: 'Set a schedule',
    description:
      'Makes a schedule, or changes the one of this name. With the same cron and time zone its next period stays. May be repeated.',
    role: 'admin',
    tenancy: 'own',
    audited: true,
    body: SetScheduleRequest,
    answers: {
      200: json('The schedule.', ScheduleBody),
      ...problems({
        400: `${INVALID} ID_INVALID, PARAMETER_INVALID: a text that cannot be stored.`,
        404: 'DAG_NOT_FOUND: there is no DAG of this name.',
        413: 'BATCH_TOO_LARGE: the payload is larger than a batch may carry.',
        422: 'SCHEDULE_INVALID: a cron or a time zone that is none, or that never comes again.',
        503: UNAVAILABLE,
      }),
    },
  }),
  listSchedules: defineRoute('listSchedules', {
    tag,
    summary: 'List schedules',
    description: 'By tenant and name; the caller’s tenant only.',
    role: 'read',
    tenancy: 'own',
    query: ScheduleListQuery,
    answers: { 200: json('A page.', SchedulePage), ...problems({ 400: INVALID, 503: UNAVAILABLE }) },
  }),
  removeSchedule: defineRoute('removeSchedule', {
    tag,
    summary: 'Remove a schedule',
    description: 'It starts no more batches; those that it started stay.',
    role: 'admin',
    tenancy: 'own',
    audited: true,
    params: z.object({ name: ScheduleNameParam }),
    query: RemoveScheduleQuery,
    answers: {
      200: json('It is removed.', RemovedScheduleBody),
      ...problems({
        400: INVALID,
        404: 'SCHEDULE_NOT_FOUND: there is none of this name, or it is another tenant’s.',
        503: UNAVAILABLE,
      }),
    },
  }),
} as const;
