import type { Readable } from 'node:stream';
import { checkRequestId, type ResolvedBulkActionConfig } from '@millrace/bulk-action';
import { BULK_ACTION_CONFIG, BulkActionService } from '@millrace/bulk-action/nestjs';
import {
  type AddJobsResponse,
  type GroupRequest,
  ROUTES,
  type SubmitGroupResponse,
} from '@millrace/contract';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Inject,
  Injectable,
  Req,
  UseGuards,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { ERRORS } from '../errors.js';
import { isNdjson } from '../http/bodies.js';
import { callerCaused, requestInvalid } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { shownId } from '../http/tenant-scope.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { progressBody } from './bodies.js';
import { groupInput, groupRef, jobInput } from './to-engine-input.js';
import { type Uploaded, type UploadTarget, uploadJobs } from './upload/upload-jobs.js';

/** Limits the number of jobs in a JSON body before the body is validated. Validation of two million wrong jobs takes half a minute. */
@Injectable()
class JobCountGuard implements CanActivate {
  readonly #parts: ServerParts;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  /** @throws MillraceError `JOBS_TOO_MANY`. */
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<FastifyRequest>();
    const { jobs } = (body ?? {}) as { jobs?: unknown };
    const max = this.#parts.config.limits.jobsPerRequest;
    if (Array.isArray(jobs) && jobs.length > max)
      throw ERRORS.create('JOBS_TOO_MANY', { max, limit: 'limits.jobsPerRequest' });
    return true;
  }
}

const { submitGroup: SUBMIT, addJobs: ADD } = ROUTES;

/** Accepts new groups and new jobs, as JSON or as lines of JSON. */
@Controller()
@UseGuards(JobCountGuard)
export class SubmitController {
  readonly #service: BulkActionService;
  readonly #config: ResolvedBulkActionConfig;
  readonly #parts: ServerParts;

  constructor(
    @Inject(BulkActionService) service: BulkActionService,
    @Inject(BULK_ACTION_CONFIG) config: ResolvedBulkActionConfig,
    @Inject(PARTS) parts: ServerParts,
  ) {
    this.#service = service;
    this.#config = config;
    this.#parts = parts;
  }

  @HandleRoute(SUBMIT)
  async submit(
    @RouteInput() asked: ValidatedRequest<typeof SUBMIT>,
    @Req() request: FastifyRequest,
  ): Promise<SubmitGroupResponse> {
    const requestId = requestIdOf(request);
    if (isNdjson(request)) return this.#submitLines(asked, request.body as Readable, requestId);
    const { body, query, caller, traceparent } = asked;
    if (query.seal !== undefined)
      throw requestInvalid([{ field: 'seal', message: 'belongs into the body, where that is JSON' }]);
    const { jobs = [], seal = body.jobs !== undefined } = body;
    const group = groupInput(body.group, caller, traceparent);
    const { groupId, progress, ...submitted } = await callerCaused(() =>
      this.#service.submitBulk(group, jobs.map(jobInput), { requestId, seal }),
    );
    return { groupId: shownId(caller, groupId), ...submitted, progress: progressBody(progress) };
  }

  @HandleRoute(ADD)
  async add(
    @RouteInput() asked: ValidatedRequest<typeof ADD>,
    @Req() request: FastifyRequest,
  ): Promise<AddJobsResponse> {
    const { params, body, caller } = asked;
    const requestId = requestIdOf(request);
    const groupId = groupRef(caller, params.groupId);
    if (isNdjson(request)) {
      const { added, known, registered } = await this.#upload(request.body as Readable, {
        group: groupId,
        requestId,
      });
      return { groupId: shownId(caller, groupId), added, known, registered };
    }
    const added = await callerCaused(() =>
      this.#service.addJobs(groupId, body.jobs.map(jobInput), { requestId }),
    );
    return { groupId: shownId(caller, groupId), ...added };
  }

  async #submitLines(
    { query, caller, traceparent }: ValidatedRequest<typeof SUBMIT>,
    body: Readable,
    requestId: string | undefined,
  ): Promise<SubmitGroupResponse> {
    let isNew = false;
    const group = async (given: GroupRequest) => {
      const { groupId, created } = await this.#service.createGroup(groupInput(given, caller, traceparent));
      isNew = created;
      return groupId;
    };
    const { groupId, jobs, added, known, registered } = await this.#upload(body, { group, requestId });
    if (query.seal !== 'false') await this.#service.seal(groupId, { total: jobs });
    const view = await this.#service.getGroup(groupId);
    return {
      groupId: shownId(caller, groupId),
      created: isNew,
      added,
      known,
      registered,
      sealed: view.sealed,
      progress: progressBody(this.#service.progressOf(view)),
    };
  }

  #upload(body: Readable, target: UploadTarget): Promise<Uploaded> {
    const { clock, config } = this.#parts;
    const { payloadBytesMax } = this.#config.limits;
    return uploadJobs(body, target, {
      service: this.#service,
      clock,
      limits: config.limits,
      payloadBytesMax,
    });
  }
}

/** Reads and checks the idempotency key. Runs before anything is stored, because a body of lines starts with its group. */
function requestIdOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  return key === undefined ? undefined : checkRequestId(key);
}
