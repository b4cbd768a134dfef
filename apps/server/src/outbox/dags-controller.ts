import { type AppliedDagBody, type DagPage, ROUTES } from '@millrace/contract';
import { Dags } from '@millrace/outbox';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { pageBody } from '../http/bodies.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { dagBody } from './bodies.js';

const { applyDag: APPLY, listDags: LIST } = ROUTES;

/** Serves DAGs. */
@Controller()
export class DagsController {
  readonly #dags: Dags;

  constructor(@Inject(Dags) dags: Dags) {
    this.#dags = dags;
  }

  @HandleRoute(APPLY)
  async apply(
    @RouteInput() { body }: ValidatedRequest<typeof APPLY>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AppliedDagBody> {
    const applied = await this.#dags.apply(body);
    reply.status(applied.created ? 201 : 200);
    return applied;
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query }: ValidatedRequest<typeof LIST>): Promise<DagPage> {
    return pageBody(await this.#dags.list(query), dagBody);
  }
}
