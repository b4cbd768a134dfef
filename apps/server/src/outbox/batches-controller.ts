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
import { Ask, type Asked, Serve } from '../http/asked.js';
import { meantTenant } from '../http/meant-tenant.js';
import { pageBody } from '../http/page-body.js';
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

/** Batches over HTTP: see ROUTES of `@millrace/contract`. */
@Controller()
export class BatchesController {
  readonly #batches: Batches;
  readonly #pusher: Pusher;

  constructor(@Inject(Batches) batches: Batches, @Inject(Pusher) pusher: Pusher) {
    this.#batches = batches;
    this.#pusher = pusher;
  }

  @Serve(START)
  async start(
    @Ask() { body, caller, traceparent }: Asked<typeof START>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StartedBatchBody> {
    const { dag, bizKey, payload, ifEnded } = body;
    const tenant = meantTenant(caller, body.tenant);
    const batch = await this.#pusher.start(dag, bizKey, payload, { tenant, ifEnded, traceparent });
    reply.status(batch.created ? 201 : 200);
    return { ...batchBody(batch), created: batch.created };
  }

  @Serve(LIST)
  async list(@Ask() { query, caller }: Asked<typeof LIST>): Promise<BatchPage> {
    const tenant = meantTenant(caller, query.tenant);
    return pageBody(await this.#batches.list({ ...query, tenant }), batchSummary);
  }

  @Serve(GET)
  async get(@Ask() { params, caller }: Asked<typeof GET>): Promise<BatchDetailsBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchDetailsBody(await this.#batches.status(params.batchId));
  }

  @Serve(ABORT)
  async abort(@Ask() { params, caller }: Asked<typeof ABORT>): Promise<BatchBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchBody(await this.#batches.abort(params.batchId));
  }

  @Serve(RETRY)
  async retry(@Ask() { params, caller }: Asked<typeof RETRY>): Promise<BatchBody> {
    await this.#requireOwn(caller, params.batchId);
    return batchBody(await this.#batches.retry(params.batchId));
  }

  @Serve(TASKS)
  async tasks(@Ask() { params, query, caller }: Asked<typeof TASKS>): Promise<BatchTaskPage> {
    await this.#requireOwn(caller, params.batchId);
    return pageBody(await this.#batches.tasks(params.batchId, query), taskBody);
  }

  @Serve(RETRY_TASK)
  async retryTask(@Ask() { params, caller }: Asked<typeof RETRY_TASK>): Promise<BatchBody> {
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
