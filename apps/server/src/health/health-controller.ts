import { type HealthBody, ROUTES } from '@millrace/contract';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HandleRoute } from '../http/routes.js';
import { callerOf } from '../security/caller.js';
import { Readiness } from './readiness.js';

/** Answers those who watch over processes. */
@Controller()
export class HealthController {
  readonly #readiness: Readiness;

  constructor(@Inject(Readiness) readiness: Readiness) {
    this.#readiness = readiness;
  }

  @HandleRoute(ROUTES.getLive)
  live(): HealthBody {
    return { ok: true, checks: [] };
  }

  @HandleRoute(ROUTES.getReady)
  async ready(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HealthBody> {
    const { ok, checks } = await this.#readiness.look();
    reply.status(ok ? 200 : 503);
    const { role, tenant } = callerOf(request);
    // What a backend says may name machines and users: for nobody without a key, and for no customer.
    const isTold = role !== 'none' && tenant === undefined;
    return { ok, checks: isTold ? checks : checks.map((check) => ({ ...check, message: null })) };
  }
}
