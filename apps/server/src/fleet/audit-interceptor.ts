import { type Logger, toWorkError } from '@millrace/foundation';
import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { secretsOf } from '../config/secrets.js';
import { ERRORS } from '../errors.js';
import { isNdjson } from '../http/bodies.js';
import { routeOf, type ServedRoute } from '../http/routes.js';
import { secretHider } from '../log.js';
import { callerOf } from '../security/caller.js';
import { AuditStore, type NewAuditEntry } from './audit-store.js';
import { keptText, summaryOf } from './audit-summary.js';

const RETRY_AFTER_MS = 1_000;

/** Writes down who changes what, before it is changed: no change without a record. */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  readonly #store: AuditStore;
  readonly #log: Logger;
  readonly #instanceId: string;
  readonly #hide: (text: string) => string;

  constructor(
    @Inject(PARTS) { config, log, instanceId }: ServerParts,
    @Inject(AuditStore) store: AuditStore,
  ) {
    this.#store = store;
    this.#log = log;
    this.#instanceId = instanceId;
    this.#hide = secretHider(secretsOf(config, process.env));
  }

  /**
   * Runs before every handler.
   * @throws MillraceError `AUDIT_UNAVAILABLE`; then the handler is not called.
   */
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const route = routeOf(request.method, request.routeOptions.url);
    if (route?.audited) await this.#record(route, request, http.getResponse<FastifyReply>());
    return next.handle();
  }

  async #record(route: ServedRoute, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    let id: string;
    try {
      id = await this.#store.write(this.#entryOf(route, request));
    } catch (cause) {
      this.#log.warn(
        { route: route.id, reason: toWorkError(cause).message },
        'A change was refused: no audit log',
      );
      throw ERRORS.create('AUDIT_UNAVAILABLE', {}, { cause, retryAfterMs: RETRY_AFTER_MS });
    }
    reply.raw.once('finish', () => {
      this.#store.noteStatus(id, reply.raw.statusCode).catch((error: unknown) => {
        const reason = toWorkError(error).message;
        this.#log.debug({ audit: id, reason }, 'The status of an entry of the audit log is not known');
      });
    });
  }

  #entryOf(route: ServedRoute, request: FastifyRequest): NewAuditEntry {
    const { id, method } = route;
    const { name, role, tenant } = callerOf(request);
    const kept = (text: unknown) => keptText(String(text), this.#hide);
    return {
      key: name,
      role,
      tenant: tenant ?? null,
      route: id,
      method,
      path: kept(request.url.split('?')[0]),
      params: Object.fromEntries(paramsOf(route, request).map(([param, value]) => [param, kept(value)])),
      // Lines are read while they come, by the handler.
      body: isNdjson(request) ? null : summaryOf(request.body, this.#hide),
      instanceId: this.#instanceId,
    };
  }
}

/** Of the path and of the query, which may say whose it is. Nothing that the route does not know: anybody could fill the log with it. */
function paramsOf({ query }: ServedRoute, request: FastifyRequest): [string, unknown][] {
  const asked = Object.entries((request.query ?? {}) as Record<string, unknown>);
  return [
    ...asked.filter(([field]) => query !== undefined && Object.hasOwn(query.shape, field)),
    ...Object.entries((request.params ?? {}) as Record<string, unknown>),
  ];
}
