import { type AuditPage, ROUTES } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { AuditStore } from './audit-store.js';

/** Shows the audit log. */
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
