import {
  type Clock,
  integerOption,
  type MillraceError,
  type Rng,
  resolveOptions,
  systemClock,
  systemRng,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import { checkGroupPatch, checkTenantPatch, defineGroup } from './group-definition.js';
import { GroupViews } from './group-views.js';
import type { GroupInput, GroupKey, GroupPatch, GroupProgress, JobInput, TenantPatch } from './model.js';
import { type AddJobsOptions, batchesOf, type PreparedJobs, prepareJobs } from './new-jobs.js';
import type { ResolvedBulkActionConfig } from './options.js';
import type { AddAnswer, BulkStore, GroupDefinition } from './ports.js';
import { changeOf, changeOrEnd, type GroupChange, optionInvalid } from './refusals.js';
import { checkId, groupIdOf, parseGroupRef } from './rules/ids.js';

/** What a BulkActionService takes from outside. */
export interface BulkActionServiceDependencies {
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  /** Dates generated ids (the machine's). */
  readonly clock?: Clock | undefined;
  /** Tells generated ids apart. */
  readonly rng?: Rng | undefined;
}

/** What became of the jobs of one call: added + known = jobs given. */
export interface JobsAdded {
  readonly added: number;
  /** Registered before, or twice in this call. */
  readonly known: number;
  /** Jobs of the group now. */
  readonly registered: number;
}

/** What became of a whole bulk action. */
export interface BulkSubmitted extends JobsAdded {
  /** As every method takes it. */
  readonly groupId: string;
  /** False when the group was there already. */
  readonly created: boolean;
  /** Whether it takes no more jobs. */
  readonly sealed: boolean;
  readonly progress: GroupProgress;
}

/** How a whole bulk action is handed in. */
export interface SubmitBulkOptions extends Pick<AddJobsOptions, 'requestId'> {
  /** Whether these are all jobs of the group (true). */
  readonly seal?: boolean | undefined;
}

const RETRY_AFTER_LEAST_MS = 1000;
const RETRY_AFTER_MOST_MS = 60_000;

/**
 * What customers and their programs call: hands in groups and jobs, and says how far they are.
 *
 * Every method may be called again after a lost answer. Everything is checked before anything is stored.
 */
export class BulkActionService extends GroupViews {
  readonly #store: BulkStore;
  readonly #config: ResolvedBulkActionConfig;
  readonly #clock: Clock;
  readonly #rng: Rng;

  /** @param dependencies - store and configuration; clock and randomness for generated ids. */
  constructor({ store, config, clock = systemClock, rng = systemRng() }: BulkActionServiceDependencies) {
    super(store, config);
    this.#store = store;
    this.#config = config;
    this.#clock = clock;
    this.#rng = rng;
  }

  /**
   * Makes a group, open for jobs; the same definition again changes nothing.
   * @param input - see GroupInput.
   * @returns the id as every method takes it, and whether the group is new.
   * @throws MillraceError `GROUP_CONFLICT`, `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async createGroup(input: GroupInput): Promise<{ readonly groupId: string; readonly created: boolean }> {
    const definition = defineGroup('createGroup', input, this.#config);
    return { groupId: groupIdOf(definition.key), created: await this.#create(definition) };
  }

  /**
   * Registers any number of jobs; ids that the group knows are left alone. An unknown group is made, with the defaults.
   *
   * All jobs are checked first. They are stored in steps: a call that is refused half-way (`QUEUE_FULL`, a group sealed
   * meanwhile) leaves the steps before, and made again with the same ids it goes on where it was.
   * @param groupId - plain, or `tenant/id`.
   * @param jobs - see JobInput.
   * @param options - `requestId`: ids of jobs without one are made from it and their position.
   * @throws MillraceError `GROUP_SEALED`, `QUEUE_FULL`, `ID_INVALID`, `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`,
   *   `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async addJobs(groupId: string, jobs: Iterable<JobInput>, options: AddJobsOptions = {}): Promise<JobsAdded> {
    const definition = defineGroup('addJobs', { id: groupId }, this.#config);
    return this.#register(definition, this.#prepare('addJobs', jobs, options));
  }

  /**
   * Ends the registration of a group: it completes when every job is done, at once when there is none. Again: no change.
   * @param groupId - plain, or `tenant/id`.
   * @param options - `total`: refused unless the group has so many jobs.
   * @throws MillraceError `SEAL_TOTAL_MISMATCH`, `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async seal(groupId: string, options: { readonly total?: number | undefined } = {}): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    const spec = { owner: 'seal', defaults: {}, rules: { total: integerOption({ min: 0 }) } };
    const { total } = resolveOptions<{ total?: number }>(spec as never, options as never);
    return this.#seal(key, total);
  }

  /**
   * Makes a group, registers its jobs and seals it. All of it is checked before anything is stored.
   * @param group - see GroupInput.
   * @param jobs - all of them, or with `seal: false` the first.
   * @param options - `requestId`: ids of jobs without one are made from it and their position; `seal`: false leaves the group open.
   * @throws MillraceError what `createGroup`, `addJobs` and `seal` throw.
   */
  async submitBulk(
    group: GroupInput,
    jobs: Iterable<JobInput>,
    options: SubmitBulkOptions = {},
  ): Promise<BulkSubmitted> {
    const definition = defineGroup('submitBulk', group, this.#config);
    const { seal = true, ...naming } = options;
    if (typeof seal !== 'boolean') throw optionInvalid('submitBulk', 'seal', 'true or false', seal);
    const prepared = this.#prepare('submitBulk', jobs, naming);
    const created = await this.#create(definition);
    const added = await this.#register(definition, prepared);
    if (seal) await this.#seal(definition.key, prepared.jobs.length);
    const groupId = groupIdOf(definition.key);
    const view = await this.getGroup(groupId);
    return { groupId, created, ...added, sealed: view.sealed, progress: this.progressOf(view) };
  }

  /**
   * Registers one job; see `addJobs`.
   * @param groupId - plain, or `tenant/id`; made with the defaults when there is no such group.
   * @param job - see JobInput.
   * @returns the job's id, and whether it is new.
   * @throws MillraceError what `addJobs` throws.
   */
  async submitJob(
    groupId: string,
    job: JobInput,
  ): Promise<{ readonly jobId: string; readonly added: boolean }> {
    const definition = defineGroup('submitJob', { id: groupId }, this.#config);
    const prepared = this.#prepare('submitJob', [job], {});
    const { added } = await this.#register(definition, prepared);
    return { jobId: prepared.jobs[0]?.id as string, added: added === 1 };
  }

  /**
   * Ends a group now: after the answer none of its jobs starts, and those that run are told to stop. A group that has
   * ended stays as it is.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`.
   */
  async cancelGroup(groupId: string): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOrEnd(key, await this.#store.groups.cancel(key));
  }

  /**
   * Holds a group: after the answer none of its jobs starts until `resumeGroup`; those that run go on.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `GROUP_ENDED`, `ID_INVALID`.
   */
  async pauseGroup(groupId: string): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOf(key, await this.#store.groups.pause(key));
  }

  /**
   * Lets a paused group go on.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `GROUP_ENDED`, `ID_INVALID`.
   */
  async resumeGroup(groupId: string): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOf(key, await this.#store.groups.resume(key));
  }

  /**
   * Changes weight and limits of a group; acts on work already queued, at once.
   * @param groupId - plain, or `tenant/id`.
   * @param patch - what changes; null takes a limit away.
   * @throws MillraceError `GROUP_NOT_FOUND`, `GROUP_ENDED`, `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async updateGroup(groupId: string, patch: GroupPatch): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOf(key, await this.#store.groups.update(key, checkGroupPatch(patch)));
  }

  /**
   * Changes weight and limits of a fairness unit, known or not yet; acts on work already queued, at once.
   * @param tenantId - its id.
   * @param patch - what changes; null takes a limit away.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async updateTenant(tenantId: string, patch: TenantPatch): Promise<void> {
    await this.#store.groups.updateTenant(checkId('tenantId', tenantId), checkTenantPatch(patch));
  }

  #prepare(owner: string, jobs: Iterable<JobInput>, options: AddJobsOptions): PreparedJobs {
    const preparation = { config: this.#config, clock: this.#clock, rng: this.#rng };
    return prepareJobs(owner, jobs, options, preparation);
  }

  async #create(definition: GroupDefinition): Promise<boolean> {
    const answer = await this.#store.groups.create(definition);
    if (answer === 'conflict') throw ERRORS.create('GROUP_CONFLICT', { group: groupIdOf(definition.key) });
    return answer === 'created';
  }

  async #register(definition: GroupDefinition, { jobs, duplicates }: PreparedJobs): Promise<JobsAdded> {
    const sum = { added: 0, known: duplicates, registered: 0 };
    let incoming = jobs.length;
    for (const batch of batchesOf(jobs)) {
      const answer = await this.#store.groups.add(definition, batch, incoming);
      if (answer.kind !== 'added') throw await this.#refusal(definition, answer, incoming);
      sum.added += answer.added;
      sum.known += answer.known;
      sum.registered = answer.registered;
      incoming -= batch.length;
    }
    return sum;
  }

  async #refusal(
    { key }: GroupDefinition,
    answer: Exclude<AddAnswer, { kind: 'added' }>,
    incoming: number,
  ): Promise<MillraceError> {
    if (answer.kind === 'sealed')
      return ERRORS.create('GROUP_SEALED', { group: groupIdOf(key), count: answer.unknown });
    const { queued, max } = answer;
    const scope = answer.scope === 'engine' ? 'The engine' : `The tenant of the group ${groupIdOf(key)}`;
    const { startsPerSecond } = await this.#store.views.queues();
    // When so many have started that these fit, at the present speed.
    const roomInMs = startsPerSecond > 0 ? ((queued + incoming - max) / startsPerSecond) * 1000 : 0;
    const retryAfterMs = Math.min(RETRY_AFTER_MOST_MS, Math.max(RETRY_AFTER_LEAST_MS, Math.ceil(roomInMs)));
    return ERRORS.create('QUEUE_FULL', { scope, queued, max }, { retryAfterMs });
  }

  async #seal(key: GroupKey, total: number | undefined): Promise<GroupChange> {
    const answer = await this.#store.groups.seal(key, total);
    if (answer.kind !== 'mismatch') return changeOrEnd(key, answer);
    const { registered } = answer;
    throw ERRORS.create('SEAL_TOTAL_MISMATCH', { group: groupIdOf(key), registered, total });
  }
}
