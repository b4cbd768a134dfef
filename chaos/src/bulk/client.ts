import { pLimit, wait } from '@millrace/async-utils';
import { type BulkActionConfig, type BulkActionService, hasEnded } from '@millrace/bulk-action';
import { type Rng, toWorkError } from '@millrace/foundation';
import { type Ledger, until } from '@millrace/testkit';
import { type OpenEngine, openEngine } from './open-engine.js';
import type { Plan, PlannedGroup } from './plan.js';
import { PROCESSOR_TYPE, type RedisPlace } from './settings.js';

const CALLERS = 8;
const BATCH_MAX = 40;
const AGAIN_AFTER_MS = 50;
const CALL_AGAIN_FOR_MS = 60_000;
/** The one code that a caller may be refused with while Redis is in trouble. */
const UNAVAILABLE = 'BACKEND_UNAVAILABLE';

/**
 * Hands in the work of a scenario and looks at the store. It calls again, with the same ids, whatever was not
 * acknowledged, as a customer's program would; the ledger is told what was.
 */
export class BulkClient implements AsyncDisposable {
  readonly opened: OpenEngine;
  readonly #ledger: Ledger;
  /** Calls that were refused, by error code. */
  readonly refusals: Record<string, number> = {};

  /** @param config - as of the workers, without their work. */
  constructor(redis: RedisPlace, config: BulkActionConfig, ledger: Ledger) {
    this.opened = openEngine({ redis, config: { ...config, workerPool: { enabled: false } } });
    this.#ledger = ledger;
  }

  /** What customers call. */
  get service(): BulkActionService {
    return this.opened.engine.service;
  }

  /** Refusals other than "try again later". */
  get unclean(): readonly string[] {
    return Object.keys(this.refusals).filter((code) => code !== UNAVAILABLE);
  }

  /** Opens the connection. */
  start(): Promise<void> {
    return this.opened.engine.start();
  }

  /** Closes it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.opened.close();
  }

  /**
   * Hands in everything, several groups at a time, each in several steps.
   * @param paceMs - how long a caller waits before a group on average, so that faults find some on the way.
   */
  async submit({ groups, tenantCaps }: Plan, rng: Rng, paceMs = 0): Promise<void> {
    for (const [tenant, concurrency] of Object.entries(tenantCaps)) {
      await this.#insist(() => this.service.updateTenant(tenant, { concurrency }));
    }
    const limit = pLimit(CALLERS);
    const submitOne = async (group: PlannedGroup) => {
      const own = rng.fork(group.input.id);
      if (paceMs > 0) await wait(own.integer(0, 2 * paceMs));
      await this.submitGroup(group, own);
    };
    await Promise.all(groups.map((group) => limit.run(() => submitOne(group))));
  }

  /** Hands in one group. */
  async submitGroup({ input, jobs }: PlannedGroup, rng: Rng, batchMin = 1): Promise<void> {
    await this.#insist(() => this.service.createGroup(input));
    for (let from = 0; from < jobs.length; ) {
      const to = Math.min(jobs.length, from + Math.max(batchMin, rng.integer(1, BATCH_MAX)));
      const batch = jobs.slice(from, to).map(({ id, script }) => ({
        id,
        processorType: script.type ?? PROCESSOR_TYPE,
        payload: script,
      }));
      await this.#insist(() => this.service.addJobs(input.id, batch));
      for (const { id } of batch) this.#ledger.append({ kind: 'acknowledged', group: input.id, id });
      from = to;
    }
    await this.#insist(() => this.service.seal(input.id, { total: jobs.length }));
  }

  /**
   * Waits until these groups have ended; a store that does not answer is asked again.
   * @param deadlineMs - how long.
   * @throws Error when one has not.
   */
  async ended(groups: readonly PlannedGroup[], deadlineMs: number): Promise<void> {
    const open = new Set(groups.map(({ input }) => input.id));
    const look = async () => {
      for (const id of open) {
        const { status } = await this.service.getGroup(id);
        if (!hasEnded(status)) return false;
        open.delete(id);
      }
      return true;
    };
    await until(look, { what: 'every group to end', deadlineMs, intervalMs: 50 }).catch(
      async (error: Error) => {
        throw new Error(`${error.message}; open: ${await this.#describe([...open])}`);
      },
    );
  }

  /** What those who stand still wait for: the reader of a failed run wants to know. */
  async #describe(open: readonly string[]): Promise<string> {
    const queues = await this.service.getQueues().catch(String);
    const first = await this.service.getGroup(open[0] ?? '').catch(String);
    return `${open.length} groups, the first ${JSON.stringify(first)}; queues ${JSON.stringify(queues)}`;
  }

  async #insist<T>(call: () => Promise<T>): Promise<T> {
    const end = performance.now() + CALL_AGAIN_FOR_MS;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const { code, message } = toWorkError(error);
        this.refusals[code] = (this.refusals[code] ?? 0) + 1;
        if (code !== UNAVAILABLE) this.#ledger.append({ kind: 'refused', code, message });
        if (performance.now() > end) throw error;
        await wait(AGAIN_AFTER_MS);
      }
    }
  }
}
