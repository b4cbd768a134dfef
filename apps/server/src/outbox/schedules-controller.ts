import { type RemovedScheduleBody, ROUTES, type ScheduleBody, type SchedulePage } from '@millrace/contract';
import { NO_TENANT } from '@millrace/foundation';
import { ERRORS, Schedules } from '@millrace/outbox';
import { Controller, Inject } from '@nestjs/common';
import { pageBody } from '../http/bodies.js';
import { HandleRoute } from '../http/routes.js';
import { resolveTenant } from '../http/tenant-scope.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { scheduleBody } from './bodies.js';

const { setSchedule: SET, listSchedules: LIST, removeSchedule: REMOVE } = ROUTES;

/** Serves schedules. */
@Controller()
export class SchedulesController {
  readonly #schedules: Schedules;

  constructor(@Inject(Schedules) schedules: Schedules) {
    this.#schedules = schedules;
  }

  @HandleRoute(SET)
  async set(@RouteInput() { body, caller }: ValidatedRequest<typeof SET>): Promise<ScheduleBody> {
    const tenant = resolveTenant(caller, body.tenant);
    return scheduleBody(await this.#schedules.set({ ...body, tenant }));
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof LIST>): Promise<SchedulePage> {
    const tenant = resolveTenant(caller, query.tenant);
    return pageBody(await this.#schedules.list({ ...query, tenant }), scheduleBody);
  }

  @HandleRoute(REMOVE)
  async remove(
    @RouteInput() { params, query, caller }: ValidatedRequest<typeof REMOVE>,
  ): Promise<RemovedScheduleBody> {
    const { name } = params;
    const tenant = resolveTenant(caller, query.tenant) ?? NO_TENANT;
    if (!(await this.#schedules.remove({ name, tenant })))
      throw ERRORS.create('SCHEDULE_NOT_FOUND', { schedule: name });
    return { tenant, name };
  }
}
