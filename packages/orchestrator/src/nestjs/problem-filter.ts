import { PROBLEM_CONTENT_TYPE, toProblem } from '@millrace/contract';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpStatus, Logger } from '@nestjs/common';
import { retryAfterSeconds } from '../rules/prefer.js';
import { type HttpReply, type HttpRequest, pathOf, responseOf } from './http.js';

/** Statuses that always have a Retry-After. */
const LATER: readonly number[] = [429, 503];
const RETRY_AFTER_MS = 1_000;

const log = new Logger('Orchestrator');

/**
 * Answers every error as RFC 9457 problem+json: errors of Millrace by their code, HTTP errors of Nest, Fastify and Express
 * by their status, all others as `INTERNAL` without details. Can serve a whole application:
 * `app.useGlobalFilters(new ProblemFilter())`.
 */
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    const reply = http.getResponse<HttpReply>();
    const shown = httpError(error) ?? error;
    const problem = toProblem(shown, { instance: pathOf(request) });
    if (problem.code === 'INTERNAL' && !isCallerGone(error, reply))
      log.error({ message: 'A request failed unexpectedly', path: problem.instance, error: stackOf(error) });
    if (responseOf(reply).headersSent) return;
    reply.status(problem.status);
    reply.header('content-type', PROBLEM_CONTENT_TYPE);
    reply.header('cache-control', 'no-store');
    const { retryAfterMs } = shown as { retryAfterMs?: unknown };
    const waitMs = typeof retryAfterMs === 'number' ? retryAfterMs : undefined;
    if (waitMs !== undefined || LATER.includes(problem.status))
      reply.header('retry-after', retryAfterSeconds(waitMs ?? RETRY_AFTER_MS));
    reply.send(JSON.stringify(problem));
  }
}

Catch()(ProblemFilter);

/** Returns an HTTP error in the shape of a MillraceError. undefined for all others and for a plain 500. */
function httpError(error: unknown): object | undefined {
  try {
    const { getStatus, statusCode, code, expose, message } = error as Record<string, unknown>;
    // Fastify and Express throw `isBelow` for requests that they cannot read.
    const isNest = typeof getStatus === 'function';
    const isBelow = expose === true || (typeof code === 'string' && code.startsWith('FST_'));
    if (!isNest && !isBelow) return undefined;
    const status: unknown = isNest ? getStatus.call(error) : statusCode;
    if (typeof status !== 'number' || status === 500) return undefined;
    const name = HttpStatus[status] ?? `HTTP_${status}`;
    return { code: name, status, retryable: LATER.includes(status), message };
  } catch {
    return undefined; // Hostile.
  }
}

/** Reports whether the client closed the connection before its body was complete. */
function isCallerGone(error: unknown, reply: HttpReply): boolean {
  try {
    return responseOf(reply).destroyed && (error as { code?: unknown }).code === 'ECONNRESET';
  } catch {
    return false; // Hostile.
  }
}

function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } catch {
    return 'something that cannot be printed';
  }
}
