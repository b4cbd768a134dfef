import {
  type BatchBody,
  type BatchDetailsBody,
  type BatchPage,
  type BatchTaskPage,
  ROUTES,
  type StartedBatchBody,
} from '@millrace/contract';
import { Batches, ERRORS, Pusher } from '@millrace/outbox';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { pageBody } from '../http/bodies.js';
import { HandleRoute } from '../http/routes.js';
import { resolveTenant } from '../http/tenant-scope.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import type { Caller } from '../security/caller.js';
import { batchBody, batchDetailsBody, batchSummary, taskBody } from './bodies.js';

const {
  startBatch: START,
  listBatches: LIST,
  getBatch: GET,
  abortBatch: ABORT,
  retryBatch: RETRY,
  listBatchTasks: TASKS,
  retryBatchTask: RETRY_TASK,
} = ROUTES;

/** Serves batches. */
@Controller()
export class BatchesController {
  readonly #batches: Batches;
  readonly #pusher: Pusher;

  constructor(@Inject(Batches) batches: Batches, @Inject(Pusher) pusher: Pusher) {
    this.#batches = batches;
    this.#pusher = pusher;
  }

  @HandleRoute(START)
  async start(
    @RouteInput() { body, caller, traceparent }: ValidatedRequest<typeof START>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StartedBatchBody> {
    const { dag, bizKey, payload, ifEnded } = body;
    const tenant = resolveTenant(caller, body.tenant);
    const batch = await this.#pusher.start(dag, bizKey, payload, { tenant, ifEnded, traceparent });
    reply.status(batch.created ? 201 : 200);
    return { ...batchBody(batch), created: batch.created };
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof LIST>): Promise<BatchPage> {
    const tenant = resolveTenant(caller, query.tenant);
    return pageBody(await this.#batches.list({ ...query, tenant }), batchSummary);
  }

  @HandleRoute(GET)
  async get(@RouteInput() { params, caller }: ValidatedRequest<typeof GET>): Promise<BatchDetailsBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchDetailsBody(await this.#batches.status(params.batchId));
  }

  @HandleRoute(ABORT)
  async abort(@RouteInput() { params, caller }: ValidatedRequest<typeof ABORT>): Promise<BatchBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchBody(await this.#batches.abort(params.batchId));
  }

  @HandleRoute(RETRY)
  async retry(@RouteInput() { params, caller }: ValidatedRequest<typeof RETRY>): Promise<BatchBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchBody(await this.#batches.retry(params.batchId));
  }

  @HandleRoute(TASKS)
  async tasks(
    @RouteInput() { params, query, caller }: ValidatedRequest<typeof TASKS>,
  ): Promise<BatchTaskPage> {
    await this.#requireOwn(caller, params.batchId);
    return pageBody(await this.#batches.tasks(params.batchId, query), taskBody);
  }

  @HandleRoute(RETRY_TASK)
  async retryTask(@RouteInput() { params, caller }: ValidatedRequest<typeof RETRY_TASK>): Promise<BatchBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchBody(await this.#batches.retryTask(params.batchId, params.taskKey));
  }

  /** Ids are counted over all tenants; another tenant's is as unknown as one that never was. */
  async #requireOwn({ tenant }: Caller, id: string): Promise<void> {
    if (tenant === undefined) return;
    const batch = await this.#batches.get(id);
    if (batch.tenant !== tenant) throw ERRORS.create('BATCH_NOT_FOUND', { batch: id });
  }
}
