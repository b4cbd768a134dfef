import { integerOption } from '@millrace/foundation';
import type { ResolvedBulkActionConfig } from './options.js';
import type { Admission, BulkStore } from './ports.js';
import { groupNotFound, jobNotFound, optionInvalid } from './refusals.js';
import { checkId, parseGroupRef } from './rules/ids.js';

/** What a BackpressureService takes from outside. */
export interface BackpressureServiceDependencies {
  readonly store: Pick<BulkStore, 'gate' | 'views'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'limits'>;
}

/** The gate into ready, for one job at a time. Fetcher and Dispatcher go through the same gate by themselves. */
export class BackpressureService {
  readonly #store: BackpressureServiceDependencies['store'];
  readonly #config: BackpressureServiceDependencies['config'];

  /** @param dependencies - store and configuration. */
  constructor({ store, config }: BackpressureServiceDependencies) {
    this.#store = store;
    this.#config = config;
  }

  /**
   * Brings one waiting job through the gate, if turn, pause, caps, limits and deadline allow.
   * @param job - its group (plain, or `tenant/id`) and id.
   * @returns where the job is now and why; REJECTED is at the head of its group's lane, never lost.
   * @throws MillraceError `JOB_NOT_FOUND`, `ID_INVALID`.
   */
  async admit({ groupId, jobId }: { readonly groupId: string; readonly jobId: string }): Promise<Admission> {
    const { key } = parseGroupRef(groupId);
    const admission = await this.#store.gate.admit(key, checkId('jobId', jobId));
    if (!admission) throw jobNotFound(key, jobId);
    return admission;
  }

  /**
   * Whether a job of the group would find its rate tokens now; spends none.
   * @param groupId - plain, or `tenant/id`.
   * @param cost - of the job (1).
   * @returns and in how many milliseconds it will, 0 when it does now.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`.
   */
  async checkRate(
    groupId: string,
    cost = 1,
  ): Promise<{ readonly allowed: boolean; readonly nextInMs: number }> {
    const { key } = parseGroupRef(groupId);
    const rule = integerOption({ min: 1, max: this.#config.limits.costMax });
    if (!rule.accepts(cost)) throw optionInvalid('checkRate', 'cost', rule.expected, cost);
    const answer = await this.#store.gate.checkRate(key, cost);
    if (!answer) throw groupNotFound(key);
    return answer;
  }
}
