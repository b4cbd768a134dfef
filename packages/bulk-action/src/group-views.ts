import { integerOption, type OptionRule, oneOfOption, resolveOptions } from '@millrace/foundation';
import type {
  GroupEvent,
  GroupKey,
  GroupProgress,
  GroupResult,
  GroupView,
  JobView,
  Page,
  QueuesView,
  TenantShare,
  TenantView,
} from './model.js';
import type { ResolvedBulkActionConfig } from './options.js';
import { type PageRequest, resolvePage } from './page-request.js';
import type { BulkStore } from './ports.js';
import { groupNotFound, jobNotFound, optionInvalid } from './refusals.js';
import { type Explanation, explainJob } from './rules/explain.js';
import { checkId, checkTenant, parseGroupRef } from './rules/ids.js';
import { progressOf } from './rules/progress.js';
import { GroupStatus, JobStatus } from './states.js';
import type { GroupFilter } from './store-views.js';

const anyId: OptionRule = { expected: 'an id', accepts: () => true };
const FILTER_RULES = {
  tenant: anyId,
  tenantId: anyId,
  status: oneOfOption(...Object.values(GroupStatus)),
};
const stateOption = oneOfOption(...Object.values(JobStatus));
const roundOption = integerOption({ min: 1 });

/** Everything that can be asked of the engine without changing it. */
export class GroupViews {
  readonly #store: Pick<BulkStore, 'views' | 'wakeUps'>;
  readonly #config: Pick<ResolvedBulkActionConfig, 'congestion'>;

  /**
   * @param store - where groups and jobs are.
   * @param config - by which back-offs are judged.
   */
  constructor(
    store: Pick<BulkStore, 'views' | 'wakeUps'>,
    config: Pick<ResolvedBulkActionConfig, 'congestion'>,
  ) {
    this.#store = store;
    this.#config = config;
  }

  /**
   * How far a group is.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`.
   */
  async getProgress(groupId: string): Promise<GroupProgress> {
    return this.progressOf(await this.getGroup(groupId));
  }

  /**
   * How far a group is, by a look at it that was taken before.
   * @param group - of `getGroup` or `listGroups`.
   */
  progressOf(group: GroupView): GroupProgress {
    return progressOf(group, this.#config.congestion.baseBackoffMs);
  }

  /**
   * A group with its definition, life and counts.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`.
   */
  async getGroup(groupId: string): Promise<GroupView> {
    const { key } = parseGroupRef(groupId);
    const group = await this.#store.views.group(key);
    if (!group) throw groupNotFound(key);
    return group;
  }

  /**
   * What came of a group.
   * @param groupId - plain, or `tenant/id`.
   * @param options - `round`: the last one that ended unless given.
   * @returns undefined while that round has not ended.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`.
   */
  async getResult(
    groupId: string,
    options: { readonly round?: number | undefined } = {},
  ): Promise<GroupResult | undefined> {
    const { key } = parseGroupRef(groupId);
    const spec = { owner: 'getResult', defaults: {}, rules: { round: roundOption } };
    const { round } = resolveOptions<{ round?: number }>(spec as never, options as never);
    const result = await this.#store.views.result(key, round);
    if (!result) await this.#requireGroup(key);
    return result;
  }

  /**
   * A job as it is now.
   * @param groupId - plain, or `tenant/id`.
   * @param jobId - its id in the group.
   * @throws MillraceError `GROUP_NOT_FOUND`, `JOB_NOT_FOUND`, `ID_INVALID`.
   */
  async getJob(groupId: string, jobId: string): Promise<JobView> {
    const { key } = parseGroupRef(groupId);
    const job = await this.#store.views.job(key, checkId('jobId', jobId));
    return job ?? this.#missingJob(key, jobId);
  }

  /**
   * Groups, the newest first.
   * @param filter - namespace, fairness unit, status; all groups without one.
   * @param page - cursor and limit.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async listGroups(filter: GroupFilter = {}, page: PageRequest = {}): Promise<Page<GroupView>> {
    const spec = { owner: 'listGroups', defaults: {}, rules: FILTER_RULES };
    const checked = resolveOptions<GroupFilter>(spec as never, filter as never);
    if (checked.tenant !== undefined) checkTenant(checked.tenant);
    if (checked.tenantId !== undefined) checkId('tenantId', checked.tenantId);
    const { limit, cursor } = resolvePage('listGroups', page);
    return this.#store.views.groups(checked, limit, cursor);
  }

  /**
   * Groups that may make progress now: those that have not ended, without paused ones that have no deadline.
   * @param options - `limit`: at most so many, about the newest; 1 to 1000 (100).
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async listActiveGroups(options: Pick<PageRequest, 'limit'> = {}): Promise<readonly GroupView[]> {
    return this.#store.views.activeGroups(resolvePage('listActiveGroups', options).limit);
  }

  /**
   * Jobs of a group.
   * @param groupId - plain, or `tenant/id`.
   * @param request - `state`: only those; cursor and limit.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async listJobs(
    groupId: string,
    request: PageRequest & { readonly state?: JobStatus | undefined } = {},
  ): Promise<Page<JobView>> {
    const { key } = parseGroupRef(groupId);
    const { state, ...page } = request;
    if (state !== undefined && !stateOption.accepts(state))
      throw optionInvalid('listJobs', 'state', stateOption.expected, state);
    const { limit, cursor } = resolvePage('listJobs', page);
    const jobs = await this.#store.views.jobs(key, { state }, limit, cursor);
    if (jobs.items.length === 0 && cursor === undefined) await this.#requireGroup(key);
    return jobs;
  }

  /**
   * A fairness unit as it is now; undefined when nobody has spoken of it.
   * @param tenantId - its id.
   * @throws MillraceError `ID_INVALID`.
   */
  async getTenant(tenantId: string): Promise<TenantView | undefined> {
    return this.#store.views.tenant(checkId('tenantId', tenantId));
  }

  /**
   * Who gets which share, the busiest first.
   * @param options - `limit`: at most so many, 1 to 1000 (100).
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async getFairness(options: Pick<PageRequest, 'limit'> = {}): Promise<readonly TenantShare[]> {
    return this.#store.views.fairness(resolvePage('getFairness', options).limit);
  }

  /** The queues of the engine as they are now. */
  async getQueues(): Promise<QueuesView> {
    return this.#store.views.queues();
  }

  /**
   * Why a job does not run, and when it will.
   * @param groupId - plain, or `tenant/id`.
   * @param jobId - its id in the group.
   * @throws MillraceError `GROUP_NOT_FOUND`, `JOB_NOT_FOUND`, `ID_INVALID`.
   */
  async explain(groupId: string, jobId: string): Promise<Explanation> {
    const { key } = parseGroupRef(groupId);
    const facts = await this.#store.views.explain(key, checkId('jobId', jobId));
    return facts ? explainJob(facts) : this.#missingJob(key, jobId);
  }

  /**
   * Tells of everything that happens to groups, here and in other instances. A hint may be lost: the state is the truth.
   * @param listener - called for each event; must not throw.
   * @returns a function that ends the subscription.
   * @throws MillraceError `OPTION_INVALID` for what is no function.
   */
  subscribe(listener: (event: GroupEvent) => void): () => void {
    if (typeof listener !== 'function') throw optionInvalid('subscribe', 'listener', 'a function', listener);
    return this.#store.wakeUps.subscribe(listener);
  }

  async #requireGroup(key: GroupKey): Promise<void> {
    if (!(await this.#store.views.group(key))) throw groupNotFound(key);
  }

  async #missingJob(key: GroupKey, jobId: string): Promise<never> {
    await this.#requireGroup(key);
    throw jobNotFound(key, jobId);
  }
}
