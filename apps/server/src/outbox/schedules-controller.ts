import { type RemovedScheduleBody, ROUTES, type ScheduleBody, type SchedulePage } from '@millrace/contract';
import { NO_TENANT } from '@millrace/foundation';
import { ERRORS, Schedules } from '@millrace/outbox';
import { Controller, Inject } from '@nestjs/common';
import { Ask, type Asked, Serve } from '../http/asked.js';
import { meantTenant } from '../http/meant-tenant.js';
import { pageBody } from '../http/page-body.js';
import { scheduleBody } from './bodies.js';

const { setSchedule: SET, listSchedules: LIST, removeSchedule: REMOVE } = ROUTES;

/** Schedules over HTTP: see ROUTES of `@millrace/contract`. */
@Controller()
export class SchedulesController {
  readonly #schedules: Schedules;

  constructor(@Inject(Schedules) schedules: Schedules) {
    this.#schedules = schedules;
  }

  @Serve(SET)
  async set(@Ask() { body, caller }: Asked<typeof SET>): Promise<ScheduleBody> {
    const tenant = meantTenant(caller, body.tenant);
    return scheduleBody(await this.#schedules.set({ ...body, tenant }));
  }

  @Serve(LIST)
  async list(@Ask() { query, caller }: Asked<typeof LIST>): Promise<SchedulePage> {
    const tenant = meantTenant(caller, query.tenant);
    return pageBody(await this.#schedules.list({ ...query, tenant }), scheduleBody);
  }

  @Serve(REMOVE)
  async remove(@Ask() { params, query, caller }: Asked<typeof REMOVE>): Promise<RemovedScheduleBody> {
    const { name } = params;
    const tenant = meantTenant(caller, query.tenant) ?? NO_TENANT;
    if (!(await this.#schedules.remove({ name, tenant })))
      throw ERRORS.create('SCHEDULE_NOT_FOUND', { schedule: name });
    return { tenant, name };
  }
}
