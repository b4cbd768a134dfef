import { AggregatorService, BulkActionService } from '@millrace/bulk-action/nestjs';
import { type ExplanationBody, type JobDetailBody, type JobPage, ROUTES } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { pageBody } from '../http/bodies.js';
import { callerCaused } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { explanationBody, jobBody } from './bodies.js';
import { groupRef } from './to-engine-input.js';

const { listJobs: LIST, getJob: GET, explainJob: EXPLAIN } = ROUTES;

/** Serves jobs. */
@Controller()
export class JobsController {
  readonly #service: BulkActionService;
  readonly #results: AggregatorService;

  constructor(
    @Inject(BulkActionService) service: BulkActionService,
    @Inject(AggregatorService) results: AggregatorService,
  ) {
    this.#service = service;
    this.#results = results;
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { params, query, caller }: ValidatedRequest<typeof LIST>): Promise<JobPage> {
    const groupId = groupRef(caller, params.groupId);
    const page = await callerCaused(() => this.#service.listJobs(groupId, query));
    return pageBody(page, (job) => jobBody(caller, job));
  }

  @HandleRoute(GET)
  async get(@RouteInput() { params, caller }: ValidatedRequest<typeof GET>): Promise<JobDetailBody> {
    const groupId = groupRef(caller, params.groupId);
    const job = await this.#service.getJob(groupId, params.jobId);
    // Only a job that has succeeded can have one: for others the search would be in vain.
    const found =
      job.status === 'COMPLETED' ? await this.#results.findResult(groupId, params.jobId) : undefined;
    return { ...jobBody(caller, job), resultKept: found !== undefined, result: found?.data ?? null };
  }

  @HandleRoute(EXPLAIN)
  async explain(
    @RouteInput() { params, caller }: ValidatedRequest<typeof EXPLAIN>,
  ): Promise<ExplanationBody> {
    const groupId = groupRef(caller, params.groupId);
    return explanationBody(caller, await this.#service.explain(groupId, params.jobId));
  }
}
