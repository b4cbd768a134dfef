import { BulkActionService } from '@millrace/bulk-action/nestjs';
import {
  type GroupBody,
  type GroupChangeResponse,
  type GroupPage,
  type GroupProgressBody,
  type GroupResultBody,
  ROUTES,
} from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { ERRORS } from '../errors.js';
import { DatabaseTime } from '../fleet/database-time.js';
import { ProgressStore } from '../fleet/progress-store.js';
import { pageBody } from '../http/bodies.js';
import { callerCaused } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { resolveTenant, shownId } from '../http/tenant-scope.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import type { Caller } from '../security/caller.js';
import { groupBody, iso, resultBody } from './bodies.js';
import { progressPoints } from './rules/progress-points.js';
import { groupPatch, groupRef } from './to-engine-input.js';

const {
  listGroups: LIST,
  getGroup: GET,
  changeGroup: CHANGE,
  cancelGroup: CANCEL,
  getGroupResult: RESULT,
  getGroupProgress: PROGRESS,
  sealGroup: SEAL,
} = ROUTES;

/** Serves groups. */
@Controller()
export class GroupsController {
  readonly #service: BulkActionService;
  readonly #progress: ProgressStore;
  readonly #time: DatabaseTime;

  constructor(
    @Inject(BulkActionService) service: BulkActionService,
    @Inject(ProgressStore) progress: ProgressStore,
    @Inject(DatabaseTime) time: DatabaseTime,
  ) {
    this.#service = service;
    this.#progress = progress;
    this.#time = time;
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof LIST>): Promise<GroupPage> {
    const { status, tenantId, limit, cursor } = query;
    const filter = { status, tenantId, tenant: resolveTenant(caller, query.tenant) };
    const page = await callerCaused(() => this.#service.listGroups(filter, { limit, cursor }));
    return pageBody(page, (group) => groupBody(caller, group, this.#service.progressOf(group)));
  }

  @HandleRoute(GET)
  async get(@RouteInput() { params, caller }: ValidatedRequest<typeof GET>): Promise<GroupBody> {
    return this.#body(caller, groupRef(caller, params.groupId));
  }

  @HandleRoute(CHANGE)
  async change(@RouteInput() { params, body, caller }: ValidatedRequest<typeof CHANGE>): Promise<GroupBody> {
    const groupId = groupRef(caller, params.groupId);
    const { paused } = body;
    const patch = groupPatch(body);
    // First what may be refused: then nothing has changed.
    if (Object.values(patch).some((value) => value !== undefined))
      await callerCaused(() => this.#service.updateGroup(groupId, patch));
    if (paused === true) await this.#service.pauseGroup(groupId);
    if (paused === false) await this.#service.resumeGroup(groupId);
    return this.#body(caller, groupId);
  }

  @HandleRoute(CANCEL)
  async cancel(
    @RouteInput() { params, caller }: ValidatedRequest<typeof CANCEL>,
  ): Promise<GroupChangeResponse> {
    const groupId = groupRef(caller, params.groupId);
    const { changed } = await this.#service.cancelGroup(groupId);
    return { changed, group: await this.#body(caller, groupId) };
  }

  @HandleRoute(RESULT)
  async result(
    @RouteInput() { params, query, caller }: ValidatedRequest<typeof RESULT>,
  ): Promise<GroupResultBody> {
    const groupId = groupRef(caller, params.groupId);
    const result = await callerCaused(() => this.#service.getResult(groupId, query));
    if (result) return resultBody(caller, result);
    const { status } = await this.#service.getGroup(groupId);
    throw ERRORS.create('RESULT_PENDING', { group: params.groupId, status });
  }

  @HandleRoute(PROGRESS)
  async progress(
    @RouteInput() { params, caller }: ValidatedRequest<typeof PROGRESS>,
  ): Promise<GroupProgressBody> {
    const group = await this.#service.getGroup(groupRef(caller, params.groupId));
    const points = progressPoints(group, await this.#progress.read(group), this.#time.now());
    return {
      groupId: shownId(caller, group.id),
      points: points.map((point) => ({ ...point, at: iso(point.at) })),
    };
  }

  @HandleRoute(SEAL)
  async seal(
    @RouteInput() { params, body, caller }: ValidatedRequest<typeof SEAL>,
  ): Promise<GroupChangeResponse> {
    const groupId = groupRef(caller, params.groupId);
    const { changed } = await callerCaused(() => this.#service.seal(groupId, body));
    return { changed, group: await this.#body(caller, groupId) };
  }

  async #body(caller: Caller, groupId: string): Promise<GroupBody> {
    const group = await this.#service.getGroup(groupId);
    return groupBody(caller, group, this.#service.progressOf(group));
  }
}
