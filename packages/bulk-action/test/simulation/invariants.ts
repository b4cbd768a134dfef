import type { GroupView, JobView } from '../../src/model.js';
import type { BulkStore } from '../../src/ports.js';
import { hasEnded } from '../../src/states.js';
import { AggregationCheck } from './aggregation-check.js';
import type { Ledger } from './processors.js';
import type { Truth, TruthGroup, TruthJob, Violations } from './truth.js';

/** What the checks look at. */
export interface AuditParts {
  readonly store: BulkStore;
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly violations: Violations;
  /** Jobs whose submit was answered, as `group#job`. */
  readonly acknowledged: ReadonlySet<string>;
  /** Whether results are added up in this run. */
  readonly aggregates: boolean;
}

interface Seen {
  readonly group: TruthGroup;
  readonly view: GroupView;
  readonly jobs: readonly JobView[];
}

/** Compares what the store shows with the truth: at any moment (I8), and when all is over (I1, I2, I3, I14). */
export class Audit {
  readonly #parts: AuditParts;

  constructor(parts: AuditParts) {
    this.#parts = parts;
  }

  /** Groups that have not ended. */
  async open(): Promise<GroupView[]> {
    const { items } = await this.#parts.store.views.groups({}, 1000);
    return items.filter(({ status }) => !hasEnded(status));
  }

  /** I8 at this moment: every job is in one place, and all counts say so. */
  async atAnyMoment(): Promise<void> {
    const { truth, store, violations } = this.#parts;
    const queues = await store.views.queues();
    const { items: dead } = await store.deadLetters.list({}, 1000);
    for (const group of truth.groups.values()) {
      const seen = await this.#look(group);
      if (!seen) continue;
      this.#checkCounts(seen);
      this.#checkStatus(seen);
      for (const view of seen.jobs) this.#checkJob(group.jobs.get(view.id), view, seen.view);
    }
    const deadJobs = [...truth.jobs()].filter(({ end }) => end === 'dead').length;
    const same = (what: string, got: number, expected: number) =>
      violations.check(got === expected, 'I8', () => `${what}: ${got} in the queues, ${expected} in truth`);
    same('in flight', queues.inFlight, truth.leased.size);
    same('dead letters', queues.deadLetters, deadJobs);
    same('listed dead letters', dead.length, deadJobs);
  }

  /** What must hold when every group has ended and the network is quiet. */
  async atTheEnd(): Promise<void> {
    const { truth, violations } = this.#parts;
    await this.atAnyMoment();
    for (const group of truth.groups.values()) {
      const seen = await this.#look(group);
      if (!seen) continue;
      for (const view of seen.jobs) this.#checkEnd(view, group);
      await this.#checkTotals(seen);
    }
    for (const name of this.#parts.acknowledged) {
      const [key, id] = name.split('#') as [string, string];
      violations.check(!!truth.job(key, id), 'I1', () => `${name} was acknowledged and is not there`);
    }
    this.#checkExecutions();
  }

  /** Nothing waits anywhere once the sweep has passed. */
  async afterTheSweep(): Promise<void> {
    const { store, violations } = this.#parts;
    const { lane, ready, nonReady, inFlight } = await store.views.queues();
    violations.check(
      lane + ready + nonReady + inFlight === 0,
      'I8',
      () => `entries are left: lane ${lane}, ready ${ready}, nonReady ${nonReady}, in flight ${inFlight}`,
    );
  }

  /** I9: once every retention has passed nothing is left. */
  async afterRetention(): Promise<void> {
    const { store, violations } = this.#parts;
    const { items } = await store.views.groups({}, 1000);
    const { deadLetters } = await store.views.queues();
    violations.check(
      items.length === 0 && deadLetters === 0,
      'I9',
      () => `${items.length} groups and ${deadLetters} dead letters outlive their retention`,
    );
  }

  async #look(group: TruthGroup): Promise<Seen | undefined> {
    const { store, violations } = this.#parts;
    const view = await store.views.group(group.key);
    violations.check(!!view, 'I8', () => `the group ${group.key} is gone`);
    if (!view) return undefined;
    const jobs: JobView[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.views.jobs(group.key, {}, 1000, cursor);
      jobs.push(...page.items);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    const ids = new Set(jobs.map(({ id }) => id));
    violations.check(
      ids.size === jobs.length && ids.size === group.jobs.size && [...ids].every((id) => group.jobs.has(id)),
      'I8',
      () => `${group.key} lists ${jobs.length} jobs (${ids.size} different), ${group.jobs.size} were added`,
    );
    return { group, view, jobs };
  }

  #checkCounts({ group, view: { counts }, jobs }: Seen): void {
    const { violations } = this.#parts;
    const count = (holds: (job: JobView) => boolean) => jobs.filter(holds).length;
    const pending = (job: JobView) => job.status === 'PENDING';
    const listed = {
      registered: jobs.length,
      success: count(({ status }) => status === 'COMPLETED'),
      failed: count(({ status }) => status === 'FAILED'),
      cancelled: count(({ status }) => status === 'CANCELLED'),
      pending: count(pending),
      inFlight: count(({ status }) => status === 'PROCESSING'),
      nonReady: count((job) => pending(job) && job.place === 'NON_READY'),
      ready: count((job) => pending(job) && job.place === 'READY'),
    };
    for (const [name, expected] of Object.entries(listed)) {
      const got = counts[name as keyof typeof counts];
      violations.check(
        got === expected,
        'I8',
        () => `${group.key} counts ${name} as ${got}, its jobs say ${expected}`,
      );
    }
  }

  /** A long registration never completes early; DISPATCHED is sealed, RUNNING sealed and started. */
  #checkStatus({ group, view: { status, sealed } }: Seen): void {
    const { violations } = this.#parts;
    const { started, cancelled, round } = group;
    const going = started || round > 1 ? 'RUNNING' : 'DISPATCHED';
    const cut = group.timedOut ? 'FAILED' : 'CANCELLED';
    const end = group.notAddedUp ? 'FAILED' : 'COMPLETED';
    const expected = cancelled ? [cut] : group.sealed ? [going, 'AGGREGATING', end] : ['CREATED'];
    violations.check(
      expected.includes(status) || (round > 1 && group.everCancelled),
      'I8',
      () => `${group.key} is ${status}, expected ${expected.join(' or ')}`,
    );
    violations.check(
      group.everCancelled || sealed === group.sealed,
      'I8',
      () => `${group.key} is shown as ${sealed ? '' : 'not '}sealed`,
    );
  }

  #checkJob(job: TruthJob | undefined, view: JobView, group: GroupView): void {
    if (!job) return;
    const { violations } = this.#parts;
    const expected = expectedStatus(job);
    violations.check(
      expected.includes(view.status),
      job.end ? 'I2' : 'I8',
      () => `${job.name} is ${view.status} in ${view.place}, expected ${expected.join(' or ')}`,
    );
    if (job.lease) {
      const message = () => `${job.name} has a lease and is in ${view.place} (group ${group.status})`;
      violations.check(view.place === 'IN_FLIGHT', 'I8', message);
    } else
      violations.check(view.place !== 'IN_FLIGHT', 'I8', () => `${job.name} is in flight without a lease`);
    if (job.end) return;
    violations.check(
      view.retryCount === job.retries && view.orphanCount === job.losses,
      'I3',
      () =>
        `${job.name} counts ${view.retryCount} retries and ${view.orphanCount} losses instead of ${job.retries} and ${job.losses}`,
    );
  }

  #checkEnd(view: JobView, group: TruthGroup): void {
    const { violations } = this.#parts;
    violations.check(
      ['COMPLETED', 'FAILED', 'CANCELLED'].includes(view.status),
      'I1',
      () => `${group.key}#${view.id} has not ended: ${view.status} in ${view.place}`,
    );
  }

  async #checkTotals({ group, view, jobs }: Seen): Promise<void> {
    const { violations, store } = this.#parts;
    const all = [...group.jobs.values()];
    const settled = all.flatMap((job) => [...job.accepted.values()]);
    const successes = settled.filter(({ jobStatus }) => jobStatus === 'COMPLETED').length;
    violations.check(
      successes === view.counts.success,
      'I14',
      () => `${group.key} counts ${view.counts.success} successes, ${successes} were accepted`,
    );
    const failures = all.filter(({ end }) => end === 'failure' || end === 'dead').length;
    const expired = jobs.filter((job) => job.status === 'FAILED' && !group.jobs.get(job.id)?.end).length;
    violations.check(
      failures + expired === view.counts.failed,
      'I14',
      () => `${group.key} counts ${view.counts.failed} failures, ${failures} accepted and ${expired} expired`,
    );
    const result = await store.views.result(group.key);
    if (this.#parts.aggregates) AggregationCheck.ofResult(group, result, violations);
    const { registered, success, failed, cancelled } = view.counts;
    violations.check(
      result?.round === view.round &&
        result.total === registered &&
        result.success === success &&
        result.failed === failed &&
        result.cancelled === cancelled &&
        Object.values(result.failedByCode).reduce((sum, count) => sum + count, 0) === failed,
      'I14',
      () => `${group.key} counts ${JSON.stringify(view.counts)}, its result is ${JSON.stringify(result)}`,
    );
  }

  #checkExecutions(): void {
    const { truth, ledger, violations } = this.#parts;
    const runs = new Map<string, { attempts: Set<number>; keys: Set<string>; count: number }>();
    for (const { job, attempt, idempotencyKey } of ledger.entries) {
      const run = runs.get(job) ?? { attempts: new Set(), keys: new Set(), count: 0 };
      runs.set(job, run);
      run.attempts.add(attempt);
      run.keys.add(idempotencyKey);
      run.count += 1;
    }
    for (const job of truth.jobs()) {
      const run = runs.get(job.name.replace(/^\//, '')) ?? { attempts: new Set(), keys: new Set(), count: 0 };
      const ends = Object.values(job.ends).reduce((sum, count) => sum + count, 0);
      const most = 1 + ends + job.redrives;
      violations.check(
        run.count <= job.reserves && job.reserves <= most,
        'I3',
        () => `${job.name} ran ${run.count} times under ${job.reserves} leases, ${most} are explained`,
      );
      violations.check(
        run.attempts.size === run.count,
        'I3',
        () => `${job.name} ran ${run.count} times in ${run.attempts.size} numbered tries`,
      );
      violations.check(run.keys.size <= 1, 'I3', () => `${job.name} has ${run.keys.size} idempotency keys`);
    }
  }
}

/** What a job may be, for all that its settlements say. */
function expectedStatus(job: TruthJob): readonly string[] {
  const { group } = job;
  if (job.end === 'success') return ['COMPLETED'];
  if (job.end) return ['FAILED'];
  const ended = group.everCancelled ? ['CANCELLED'] : [];
  if (job.lease) return ['PROCESSING', ...ended];
  const dated = job.given.deadline !== undefined || group.dated;
  return ['PENDING', ...ended, ...(dated ? ['FAILED'] : [])];
}
