import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { ERRORS } from '../errors.js';

/** Counts the jobs of a JSON body before anybody looks at them: to say what is wrong with each of two million would take half a minute. */
@Injectable()
export class FewJobs implements CanActivate {
  readonly #parts: ServerParts;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  /**
   * Runs before the body is checked.
   * @throws MillraceError `JOBS_TOO_MANY`.
   */
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<FastifyRequest>();
    const { jobs } = (body ?? {}) as { jobs?: unknown };
    const max = this.#parts.config.limits.jobsPerRequest;
    if (Array.isArray(jobs) && jobs.length > max)
      throw ERRORS.create('JOBS_TOO_MANY', { max, limit: 'limits.jobsPerRequest' });
    return true;
  }
}
