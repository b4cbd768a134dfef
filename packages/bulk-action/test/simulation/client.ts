import { MillraceError, type Rng, sleep } from '@millrace/foundation';
import { BulkActionService } from '../../src/bulk-action-service.js';
import { DeadLetterService } from '../../src/dead-letter-service.js';
import type { GroupView } from '../../src/model.js';
import type { ResolvedBulkActionConfig } from '../../src/options.js';
import type { BulkStore } from '../../src/ports.js';
import type { Tally } from './chaos.js';
import { drawLimits, type PlannedGroup, type Scenario } from './scenario.js';
import type { SimProcess } from './scheduler.js';
import type { Violations } from './truth.js';

/** What a client does while work goes on. */
export const CLIENT_OPERATIONS = [
  'pause',
  'resume',
  'cancel',
  'update group',
  'update tenant',
  'redrive a group',
  'redrive all',
  'purge',
  'cancel and redrive',
  'admit',
  'give back all',
  'submit again',
  'sweep',
  'look',
] as const;
/** What it does besides, of which each must occur. */
export const SUBMISSIONS = ['submit bulk', 'create', 'add jobs', 'seal', 'squeeze'] as const;
/** See the constant. */
export type ClientOperation = (typeof CLIENT_OPERATIONS)[number];

/** What a client needs. */
export interface ClientParts {
  readonly process: SimProcess;
  readonly store: BulkStore;
  readonly config: ResolvedBulkActionConfig;
  readonly scenario: Scenario;
  readonly rng: Rng;
  readonly tally: Tally;
  readonly violations: Violations;
}

/** Whoever submits work and changes it: repeats every call until it is answered. */
export class Client {
  /** Jobs whose submit was answered, as `key#job`. */
  readonly acknowledged = new Set<string>();
  /** Calls that are not answered yet. */
  busy = 0;
  readonly #parts: ClientParts;
  readonly #service: BulkActionService;
  readonly #deadLetters: DeadLetterService;
  readonly #rng: Rng;

  constructor(parts: ClientParts) {
    const { store, config, process, rng } = parts;
    this.#parts = parts;
    this.#rng = rng;
    this.#service = new BulkActionService({ store, config, clock: process.clock, rng: rng.fork('ids') });
    this.#deadLetters = new DeadLetterService({ store });
  }

  /** Sets the weights of the tenants. */
  async setWeights(): Promise<void> {
    for (const [id, weight] of Object.entries(this.#parts.scenario.tenantWeights))
      await this.#insist('set weights', () => this.#service.updateTenant(id, { weight }));
  }

  /** Hands a group in, in one call or in several. */
  async submit(planned: PlannedGroup): Promise<void> {
    await this.#submit(planned);
    if (!planned.squeezed) return;
    await sleep(this.#parts.process.clock, this.#rng.integer(0, 10));
    const { id } = planned.group;
    await this.#insist('squeeze', () => this.#service.updateGroup(id, { rps: 2, burst: 1 }));
  }

  async #submit({ group, jobs, batches }: PlannedGroup): Promise<void> {
    const acknowledge = (some: PlannedGroup['jobs']) => {
      for (const { id } of some) this.acknowledged.add(`/${group.id}#${id}`);
    };
    if (batches === 1) {
      const submitted = await this.#insist('submit bulk', () => this.#service.submitBulk(group, jobs));
      if (submitted) acknowledge(jobs);
      return;
    }
    if (!(await this.#insist('create', () => this.#service.createGroup(group)))) return;
    const size = Math.ceil(jobs.length / batches);
    for (let from = 0; from < jobs.length; from += size) {
      const batch = jobs.slice(from, from + size);
      if (!(await this.#insist('add jobs', () => this.#service.addJobs(group.id, batch)))) return;
      acknowledge(batch);
      await sleep(this.#parts.process.clock, this.#rng.integer(0, 300));
    }
    const total = jobs.length;
    await this.#insist('seal', () => this.#service.seal(group.id, { total }));
  }

  /** Does one thing with work that is under way. */
  async operate(operation: ClientOperation): Promise<void> {
    const service = this.#service;
    const planned = this.#rng.pick(this.#parts.scenario.groups);
    const { id, tenantId = id } = planned.group;
    const nullable = <T>(value: T | undefined) => value ?? (this.#rng.chance(0.5) ? null : undefined);
    const { rps, burst, concurrency } = drawLimits(this.#rng);
    const limits = { rps: nullable(rps), burst: nullable(burst), concurrency: nullable(concurrency) };
    const weight = this.#rng.pick([1, 2, 5]);
    const act: Record<ClientOperation, () => Promise<unknown>> = {
      pause: () => service.pauseGroup(id),
      resume: () => service.resumeGroup(id),
      cancel: () => service.cancelGroup(id),
      'update group': () => service.updateGroup(id, { ...limits, weight, priorityLevel: 'high' }),
      'update tenant': () => service.updateTenant(tenantId, { ...limits, weight }),
      'redrive a group': () => this.#deadLetters.redrive({ groupId: id }),
      'redrive all': () => this.#deadLetters.redrive({ all: true }),
      purge: () => this.#deadLetters.purge({ groupId: id }),
      admit: () => this.#parts.store.gate.admit(`/${id}`, this.#rng.pick(planned.jobs).id),
      'give back all': () => this.#parts.store.leases.giveBackAll('i1', this.#rng.pick([1, 100])),
      'cancel and redrive': () => this.#cancelAndRedrive(),
      'submit again': () => service.submitBulk(planned.group, planned.jobs),
      sweep: () => this.#parts.store.upkeep.sweep(this.#rng.pick([1, 10, 1000])),
      look: () => this.#look(planned),
    };
    await this.#insist(operation, act[operation]);
  }

  /** After the faults: what is held or was left open goes on and ends. */
  async resumeAndSeal(groups: readonly GroupView[]): Promise<void> {
    for (const { id, paused, sealed } of groups) {
      if (paused) await this.#insist('resume at the end', () => this.#service.resumeGroup(id));
      if (!sealed) await this.#insist('seal at the end', () => this.#service.seal(id));
    }
  }

  /** The next round of a group begins while the entries of the last one are still to be swept. */
  async #cancelAndRedrive(): Promise<void> {
    const { items } = await this.#deadLetters.list();
    if (items.length === 0) return;
    const { groupId } = this.#rng.pick(items).job;
    await this.#service.cancelGroup(groupId);
    await this.#deadLetters.redrive({ groupId });
    await this.#parts.store.upkeep.sweep(1000);
  }

  async #look({ group: { id }, jobs }: PlannedGroup): Promise<void> {
    const { registered, done, pending, inFlight } = await this.#service.getProgress(id);
    this.#parts.violations.check(
      done + pending + inFlight === registered,
      'I8',
      () => `progress of ${id}: ${done} done, ${pending} pending, ${inFlight} in flight of ${registered}`,
    );
    await this.#service.explain(id, this.#rng.pick(jobs).id);
    await this.#service.getFairness();
  }

  /** Repeats a call until it is answered; a refusal is an answer. Undefined when it was refused. */
  async #insist<T>(name: string, call: () => Promise<T>): Promise<T | true | undefined> {
    const { tally, process, violations } = this.#parts;
    this.busy += 1;
    tally.count(name);
    try {
      for (;;) {
        try {
          return (await call()) ?? true;
        } catch (error) {
          const code = error instanceof MillraceError ? error.code : undefined;
          if (code !== 'BACKEND_UNAVAILABLE') {
            tally.count(`${name} refused: ${code}`);
            violations.check(code !== undefined, 'I8', () => `${name} threw ${(error as Error)?.stack}`);
            return undefined;
          }
          await sleep(process.clock, this.#rng.integer(50, 500));
        }
      }
    } finally {
      this.busy -= 1;
    }
  }
}
