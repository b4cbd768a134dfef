import type { ResolvedBulkActionConfig } from '@millrace/bulk-action';
import { BULK_ACTION_CONFIG, BulkActionService, CongestionStatsService } from '@millrace/bulk-action/nestjs';
import {
  type CongestionBody,
  type FairnessBody,
  type QueuesBody,
  ROUTES,
  type TenantBody,
} from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { ERRORS } from '../errors.js';
import { callerCaused } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import type { Caller } from '../security/caller.js';
import { iso, tenantBody } from './bodies.js';
import { readFairness } from './fairness.js';

const {
  getTenant: TENANT,
  changeTenant: CHANGE,
  getFairness: FAIRNESS,
  getQueues: QUEUES,
  getCongestion: CONGESTION,
} = ROUTES;

/** Serves shares, limits, queues and congestion. */
@Controller()
export class SharesController {
  readonly #service: BulkActionService;
  readonly #congestion: CongestionStatsService;
  readonly #config: ResolvedBulkActionConfig;

  /** @param congestion - knows how called services hold work back. */
  constructor(
    @Inject(BulkActionService) service: BulkActionService,
    @Inject(CongestionStatsService) congestion: CongestionStatsService,
    @Inject(BULK_ACTION_CONFIG) config: ResolvedBulkActionConfig,
  ) {
    this.#service = service;
    this.#congestion = congestion;
    this.#config = config;
  }

  @HandleRoute(TENANT)
  async tenant(@RouteInput() { params, caller }: ValidatedRequest<typeof TENANT>): Promise<TenantBody> {
    return this.#tenant(ownUnit(caller, params.tenantId));
  }

  @HandleRoute(CHANGE)
  async change(@RouteInput() { params, body }: ValidatedRequest<typeof CHANGE>): Promise<TenantBody> {
    await callerCaused(() => this.#service.updateTenant(params.tenantId, body));
    return this.#tenant(params.tenantId);
  }

  @HandleRoute(FAIRNESS)
  async fairness(@RouteInput() { query, caller }: ValidatedRequest<typeof FAIRNESS>): Promise<FairnessBody> {
    const asked = query.tenantId ?? caller.tenant;
    const tenantId = asked === undefined ? undefined : ownUnit(caller, asked);
    return readFairness(
      { service: this.#service, config: this.#config },
      { caller, tenantId, limit: query.limit },
    );
  }

  @HandleRoute(QUEUES)
  async queues(): Promise<QueuesBody> {
    const queues = await this.#service.getQueues();
    return {
      ...queues,
      nonReadyByReason: { ...queues.nonReadyByReason },
      congestionRates: { ...queues.congestionRates },
    };
  }

  @HandleRoute(CONGESTION)
  async congestion(@RouteInput() { query }: ValidatedRequest<typeof CONGESTION>): Promise<CongestionBody> {
    const { groupId } = query;
    const history = <P extends { readonly at: number }>(points: readonly P[]) =>
      query.history === 'true' ? dated(points) : [];
    const [resources, group] = await Promise.all([
      this.#congestion.getResources(),
      groupId === undefined ? null : this.#congestion.getStats(groupId),
    ]);
    return {
      resources: resources.map((resource) => ({ ...resource, history: history(resource.history) })),
      group: group && { ...group, history: history(group.history) },
    };
  }

  async #tenant(tenantId: string): Promise<TenantBody> {
    const tenant = await this.#service.getTenant(tenantId);
    if (!tenant) throw ERRORS.create('TENANT_NOT_FOUND', { tenant: tenantId });
    return tenantBody(tenant);
  }
}

/** A key that is limited to a tenant knows no other. */
function ownUnit({ tenant }: Caller, tenantId: string): string {
  if (tenant !== undefined && tenant !== tenantId)
    throw ERRORS.create('TENANT_NOT_FOUND', { tenant: tenantId });
  return tenantId;
}

const dated = <P extends { readonly at: number }>(points: readonly P[]) =>
  points.map((point) => ({ ...point, at: iso(point.at) }));
