import type { SettleAnswer, Settlement } from '../../src/lease.js';
import type { TruthJob } from './truth.js';
import type { WitnessParts } from './witness-parts.js';

/** I4 and I2 at every settlement: the holder of a lease is heard once, and nobody else changes anything. */
export class SettleCheck {
  readonly #parts: WitnessParts;
  /** What a job looked like before a settlement that does not come from its holder, or that comes again. */
  readonly #before = new Map<string, string>();
  #alone = false;

  constructor(parts: WitnessParts) {
    this.#parts = parts;
  }

  /** Looks at the jobs whose settlement must change nothing. */
  async before(settlements: readonly Settlement[]): Promise<void> {
    const { truth } = this.#parts;
    this.#before.clear();
    this.#alone = settlements.length === 1;
    for (const { key, jobId, token } of settlements) {
      const job = truth.job(key, jobId);
      if (!job || job.lease?.token === token) continue;
      // Another settlement of the same job in the same call may rightly change it.
      if (settlements.filter((other) => other.key === key && other.jobId === jobId).length > 1) continue;
      this.#before.set(job.name, await this.#look(job));
    }
  }

  /** Checks the answers, and keeps the truth up to date. */
  async after(settlements: readonly Settlement[], answers: readonly SettleAnswer[]): Promise<void> {
    const { truth, violations, tally } = this.#parts;
    violations.check(
      settlements.length === answers.length,
      'I4',
      () => `${settlements.length} settlements got ${answers.length} answers`,
    );
    for (const [index, settlement] of settlements.entries()) {
      const job = truth.job(settlement.key, settlement.jobId);
      tally.count(`settle ${answers[index]?.status}`);
      if (job) this.#settled(job, settlement, answers[index] as SettleAnswer);
    }
    for (const [name, before] of this.#before) {
      const settlement = settlements.find(({ key, jobId }) => `${key}#${jobId}` === name) as Settlement;
      const job = truth.job(settlement.key, settlement.jobId) as TruthJob;
      const now = await this.#look(job);
      violations.check(
        now === before,
        'I4',
        () => `a stale or repeated token changed ${name}: ${before} → ${now}`,
      );
    }
  }

  #settled(job: TruthJob, { token, outcome }: Settlement, answer: SettleAnswer): void {
    const { truth, violations } = this.#parts;
    const holds = job.lease?.token === token;
    const first = job.accepted.get(token);
    const say = (what: string) => () => `${job.name}, token ${token}, ${outcome.kind}: ${what}`;
    violations.check(answer.status !== 'gone', 'I4', say('answered gone'));
    if (!holds) {
      // The job may have gone on since: then the first settlement is as stale as any other.
      const last = first !== undefined && job.lastToken === token && job.redrives === 0;
      violations.check(answer.status !== 'accepted' || !!first, 'I4', say('a stale token was accepted'));
      violations.check(
        !last || answer.status !== 'stale',
        'I4',
        say('the accepted token was called stale when repeated'),
      );
      violations.check(
        !first || answer.status !== 'accepted' || answer.jobStatus === first.jobStatus,
        'I4',
        say(`repeated, answered ${answer.jobStatus} instead of ${first?.jobStatus}`),
      );
      return;
    }
    violations.check(answer.status !== 'stale', 'I4', say('the holder of the lease was called stale'));
    if (answer.status === 'cancelled') {
      violations.check(job.group.everCancelled, 'I4', say('answered cancelled, and nobody cancelled'));
      truth.release(job, 'cancelled');
      return;
    }
    if (answer.status !== 'accepted') return;
    job.accepted.set(token, answer);
    const expected = { success: 'COMPLETED', retry: 'PENDING', failure: 'FAILED' }[outcome.kind];
    violations.check(answer.jobStatus === expected, 'I2', say(`became ${answer.jobStatus}`));
    this.#apply(job, outcome);
  }

  #apply(job: TruthJob, outcome: Settlement['outcome']): void {
    const { truth, violations, config } = this.#parts;
    if (outcome.kind === 'success') truth.finish(job, 'success');
    else if (outcome.kind === 'failure') truth.finish(job, outcome.dead ? 'dead' : 'failure');
    else if (!outcome.spendsRetry)
      truth.release(job, outcome.reason === 'NO_PROCESSOR' ? 'no processor' : 'throttled');
    else {
      truth.release(job, 'retry');
      const most = config.workerPool.maxRetryCount;
      violations.check(job.retries <= most, 'I3', () => `${job.name} is retried more than ${most} times`);
    }
  }

  async #look(job: TruthJob): Promise<string> {
    const { store } = this.#parts;
    const view = await store.views.job(job.group.key, job.id);
    // Other settlements of the same call may rightly change the counts.
    const group = this.#alone ? await store.views.group(job.group.key) : undefined;
    return JSON.stringify([view, group?.counts]);
  }
}
