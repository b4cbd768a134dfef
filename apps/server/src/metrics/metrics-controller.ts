import { SYSTEM_ROUTES } from '@millrace/contract';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Serve } from '../http/asked.js';
import { EngineMetrics } from './engine-metrics.js';

/** Answers Prometheus. */
@Controller()
export class MetricsController {
  readonly #metrics: EngineMetrics;

  constructor(@Inject(EngineMetrics) metrics: EngineMetrics) {
    this.#metrics = metrics;
  }

  @Serve(SYSTEM_ROUTES.getMetrics)
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    reply.type(this.#metrics.contentType);
    return this.#metrics.text();
  }
}
