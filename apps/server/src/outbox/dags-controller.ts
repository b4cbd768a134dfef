import { type AppliedDagBody, type DagPage, ROUTES } from '@millrace/contract';
import { Dags } from '@millrace/outbox';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Ask, type Asked, Serve } from '../http/asked.js';
import { pageBody } from '../http/page-body.js';
import { dagBody } from './bodies.js';

const { applyDag: APPLY, listDags: LIST } = ROUTES;

/** DAGs over HTTP: see ROUTES of `@millrace/contract`. */
@Controller()
export class DagsController {
  readonly #dags: Dags;

  constructor(@Inject(Dags) dags: Dags) {
    this.#dags = dags;
  }

  @Serve(APPLY)
  async apply(
    @Ask() { body }: Asked<typeof APPLY>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AppliedDagBody> {
    const applied = await this.#dags.apply(body);
    reply.status(applied.created ? 201 : 200);
    return applied;
  }

  @Serve(LIST)
  async list(@Ask() { query }: Asked<typeof LIST>): Promise<DagPage> {
    return pageBody(await this.#dags.list(query), dagBody);
  }
}
