import {
  type Clock,
  type Logger,
  type Rng,
  silentLogger,
  sleep,
  systemClock,
  systemRng,
} from '@millrace/foundation';
import type { StoredResult } from './aggregation.js';
import type { AggregatorRegistry, JobResult } from './aggregator.js';
import { ERRORS } from './errors.js';
import type { SettleAnswer } from './lease.js';
import type { Page } from './model.js';
import type { ResolvedBulkActionConfig } from './options.js';
import { type PageRequest, resolvePage } from './page-request.js';
import { newToken } from './pool/aggregation.js';
import { readAnswer } from './pool/read-answer.js';
import { type AggregationOutcome, AggregationRun } from './pool/run-aggregation.js';
import type { BulkStore } from './ports.js';
import type { JobProcessorResponse } from './processor.js';
import { groupNotFound } from './refusals.js';
import { checkId, parseGroupRef } from './rules/ids.js';
import type { HeldJobs } from './services/held-jobs.js';

/** Results that one step looks through for that of a job, and steps: a store does other work between two. */
const FIND_STEP = 1_000;
const FIND_STEPS_MAX = 50;

/** What an AggregatorService takes from outside. */
export interface AggregatorServiceDependencies {
  readonly store: Pick<BulkStore, 'aggregations' | 'views'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'watcher' | 'limits'>;
  readonly aggregators: AggregatorRegistry;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly log?: Logger | undefined;
  /** The jobs of this process that `recordJobResult` can report (none). */
  readonly held?: Pick<HeldJobs, 'find' | 'report'> | undefined;
}

/** What came of a job, as `recordJobResult` takes it. */
export type RecordedResult = Pick<
  JobProcessorResponse,
  'jobId' | 'groupId' | 'success' | 'data' | 'error'
> & { readonly durationMs?: number | undefined };

/**
 * As AggregationOutcome; busy: somebody else does it. nothing: the group has jobs that are not done, or has ended.
 */
export type FinalizeAnswer = AggregationOutcome | 'busy' | 'nothing';

/** Adds up the results of one group on request; the pool does it for all by itself. */
export class AggregatorService {
  readonly #dependencies: AggregatorServiceDependencies;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #log: Logger;

  /** @param dependencies - see AggregatorServiceDependencies. */
  constructor(dependencies: AggregatorServiceDependencies) {
    const { clock = systemClock, rng = systemRng(), log = silentLogger } = dependencies;
    this.#dependencies = dependencies;
    this.#clock = clock;
    this.#rng = rng;
    this.#log = log;
  }

  /**
   * Adds up the results of a group whose jobs are all done, and ends it. The lock is tried `watcher.lockRetryCount` times
   * more, `watcher.lockRetryDelayMs` apart.
   * @param groupId - plain, or `tenant/id`.
   * @returns what it came to.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async finalizeGroup(groupId: string): Promise<FinalizeAnswer> {
    const { store, config, aggregators } = this.#dependencies;
    const { lockTtlMs, lockRetryCount, lockRetryDelayMs } = config.watcher;
    const { key } = parseGroupRef(groupId);
    const token = newToken(this.#rng);
    for (let tries = 0; ; tries++) {
      const claim = await store.aggregations.claimGroup(key, token, lockTtlMs);
      if (!claim) {
        if (!(await store.views.group(key))) throw groupNotFound(key);
        return 'nothing';
      }
      if (claim.aggregation) {
        const environment = { store, config, aggregators, clock: this.#clock, log: this.#log };
        return new AggregationRun(environment, claim.aggregation, token).run();
      }
      if (tries >= lockRetryCount) return 'busy';
      await sleep(this.#clock, lockRetryDelayMs);
    }
  }

  /**
   * Reports the try of a job that this process has taken by hand: counted once, kept where an aggregator wants it, and tried again
   * where it failed and may be. The pool reports its own by itself.
   * @param result - what came of it; `success`, `data` or `error`, and `durationMs` (since it was taken).
   * @returns what the job and its group are now; `cancelled`: the group had ended.
   * @throws MillraceError `LEASE_LOST` when this process does not hold it, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async recordJobResult(result: RecordedResult): Promise<SettleAnswer> {
    const { held } = this.#dependencies;
    const { key } = parseGroupRef(result.groupId);
    const job = held?.find(key, checkId('jobId', result.jobId));
    if (!held || !job) throw ERRORS.create('LEASE_LOST', { job: result.jobId });
    const verdict = result.success ? { success: true as const, data: result.data } : readAnswer(result);
    return held.report(job, verdict, result.durationMs);
  }

  /**
   * The stored results of a group in the order of their settlement, for as long as its jobs are kept.
   * @param groupId - plain, or `tenant/id`.
   * @param request - `cursor` of the page before, `limit` 1 to 1000 (100).
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async listResults(groupId: string, request: PageRequest = {}): Promise<Page<JobResult>> {
    const { store } = this.#dependencies;
    const { key } = parseGroupRef(groupId);
    const { limit, cursor } = resolvePage('listResults', request);
    const page = await store.aggregations.page(key, limit, cursor);
    if (page.items.length === 0 && !(await store.views.group(key))) throw groupNotFound(key);
    return { ...page, items: page.items.map(resultOf) };
  }

  /**
   * The stored result of a job, for as long as its group's jobs are kept.
   * @param groupId - plain, or `tenant/id`.
   * @param jobId - its id in the group.
   * @returns undefined where none is kept, or it is not among the newest 50,000 of its group (fewer where they are large).
   * @throws MillraceError `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async findResult(groupId: string, jobId: string): Promise<JobResult | undefined> {
    const { aggregations } = this.#dependencies.store;
    const { key } = parseGroupRef(groupId);
    const id = checkId('jobId', jobId);
    let cursor: string | undefined;
    for (let step = 0; step < FIND_STEPS_MAX; step++) {
      const look = await aggregations.find(key, id, FIND_STEP, cursor);
      if (look.found) return resultOf(look.found);
      if (look.cursor === undefined) return undefined;
      cursor = look.cursor;
    }
    return undefined;
  }
}

const resultOf = ({ jobId, processorType, data }: StoredResult): JobResult => ({
  jobId,
  processorType,
  data: data === undefined ? undefined : (JSON.parse(data) as unknown),
});
