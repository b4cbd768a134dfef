import { type HealthBody, SYSTEM_ROUTES } from '@millrace/contract';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Serve } from '../http/asked.js';
import { Readiness } from './readiness.js';

/** Answers those who watch over processes. */
@Controller()
export class HealthController {
  readonly #readiness: Readiness;

  /**
   * Called by Nest.
   * @param readiness - knows.
   */
  constructor(@Inject(Readiness) readiness: Readiness) {
    this.#readiness = readiness;
  }

  /** See the route. */
  @Serve(SYSTEM_ROUTES.getLive)
  live(): HealthBody {
    return { ok: true, checks: [] };
  }

  /** See the route. */
  @Serve(SYSTEM_ROUTES.getReady)
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<HealthBody> {
    const health = await this.#readiness.look();
    reply.status(health.ok ? 200 : 503);
    return health;
  }
}
