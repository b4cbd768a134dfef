import { type AuditEntry, type AuditPage, ROUTES } from '@millrace/contract';
import { type Logger, toWorkError } from '@millrace/foundation';
import {
  type CallHandler,
  Controller,
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
import { HandleRoute, routeOf, type ServedRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { secretHider } from '../log.js';
import { callerOf } from '../security/caller.js';
import { keptText, summaryOf } from './audit-summary.js';
import { ServerTables } from './server-tables.js';

/** How long entries are kept (90 days). */
const KEPT_MS = 90 * 86_400_000;

/** The fields that are known before the change. */
type NewAuditEntry = Omit<AuditEntry, 'id' | 'at' | 'status'>;

/** Selects entries. */
interface AuditFilter {
  readonly tenant: string | undefined;
  readonly route: string | undefined;
  readonly key: string | undefined;
  /** The cursor of the previous page. */
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Stores the audit log in PostgreSQL. */
@Injectable()
export class AuditStore {
  readonly #tables: ServerTables;

  constructor(@Inject(ServerTables) tables: ServerTables) {
    this.#tables = tables;
  }

  /**
   * Writes an entry and returns its id.
   * @throws MillraceError `BACKEND_UNAVAILABLE` if the entry may or may not have been written; the error of PostgreSQL.
   */
  async write(entry: NewAuditEntry): Promise<string> {
    const { key, role, tenant, route, method, path, params, body, instanceId } = entry;
    const { id } = await this.#tables.once<Pick<AuditRow, 'id'>>('write-audit', [
      ...[key, role, tenant, route, method, path, params, body, instanceId],
    ]);
    return id;
  }

  /** Adds the status of the response to an entry. */
  async noteStatus(id: string, status: number): Promise<void> {
    await this.#tables.change('note-audit-status', [id, status]);
  }

  /** Returns entries, newest first. */
  async list({ tenant, route, key, cursor, limit }: AuditFilter): Promise<readonly AuditEntry[]> {
    const rows = await this.#tables.rows<AuditRow>('list-audit', [tenant, route, key, cursor, limit]);
    return rows.map(({ at, key_name, instance_id, ...same }) => ({
      ...same,
      at: at.toISOString(),
      key: key_name,
      instanceId: instance_id,
    }));
  }

  /**
   * Removes at most `limit` expired entries. Returns how many.
   */
  prune(limit: number): Promise<number> {
    return this.#tables.change('prune-audit', [KEPT_MS, limit]);
  }
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'key' | 'instanceId'> {
  readonly at: Date;
  readonly key_name: string;
  readonly instance_id: string;
}

const RETRY_AFTER_MS = 1_000;

/** Records every change before it happens. If the record cannot be written, the change is rejected. */
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
   * Nest calls it before every handler.
   * @throws MillraceError `AUDIT_UNAVAILABLE`. The handler is not called then.
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
      // The handler reads a body of lines while it arrives.
      body: isNdjson(request) ? null : summaryOf(request.body, this.#hide),
      instanceId: this.#instanceId,
    };
  }
}

/** Returns the path and query parameters. Leaves out unknown ones, because a client could fill the log with them. */
function paramsOf({ query }: ServedRoute, request: FastifyRequest): [string, unknown][] {
  const asked = Object.entries((request.query ?? {}) as Record<string, unknown>);
  return [
    ...asked.filter(([field]) => query !== undefined && Object.hasOwn(query.shape, field)),
    ...Object.entries((request.params ?? {}) as Record<string, unknown>),
  ];
}

/** Serves the audit log. */
@Controller()
export class AuditController {
  readonly #store: AuditStore;

  constructor(@Inject(AuditStore) store: AuditStore) {
    this.#store = store;
  }

  @HandleRoute(ROUTES.listAudit)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof ROUTES.listAudit>): Promise<AuditPage> {
    const { limit, cursor, route, key } = query;
    const found = await this.#store.list({ tenant: caller.tenant, route, key, cursor, limit: limit + 1 });
    const items = found.slice(0, limit);
    return { items, cursor: found.length > limit ? (items.at(-1)?.id ?? null) : null };
  }
}
