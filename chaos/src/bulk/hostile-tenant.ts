import { wait } from '@millrace/async-utils';
import type { BulkActionEngine } from '@millrace/bulk-action';
import { type Rng, toWorkError } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import { allPages } from './evidence.js';
import { HOSTILE, hostileInputs } from './hostile-input.js';
import { PROCESSOR_TYPE } from './settings.js';

/** How a call of the hostile tenant ended. */
export interface Attempt {
  readonly what: string;
  readonly expected: string;
  readonly got: string;
}

/** How much it floods with. */
export interface Flood {
  /** Jobs of one call. */
  readonly batch: number;
  /** Calls at once. */
  readonly callers: number;
}

const FLOOD_JOB_MS = [10, 40] as const;
const FULL_AGAIN_MS = 10;
const DEAD_WITHIN_MS = 20_000;
const PAGE = 1000;
/** The largest that a group may claim: within its tenant that is its own affair. */
const WEIGHT_MAX = 1_000_000;

const own = (id: string): string => `${HOSTILE}/${id}`;

/** Everything one tenant can do to be in the way of another, under its own name. */
export class HostileTenant {
  readonly attempts: Attempt[] = [];
  /** Jobs it has brought in. */
  accepted = 0;
  readonly #engine: BulkActionEngine;
  readonly #rng: Rng;
  #over = false;
  #groups = 0;

  /** @param engine - what it calls. */
  constructor(engine: BulkActionEngine, rng: Rng) {
    this.#engine = engine;
    this.#rng = rng;
  }

  /** Floods no more. */
  stop(): void {
    this.#over = true;
  }

  /**
   * Hands in huge groups, as heavy and as urgent as they can be, until told to stop; refused, it comes again at once.
   */
  async flood({ batch, callers }: Flood): Promise<void> {
    await Promise.all(Array.from({ length: callers }, () => this.#floodOn(batch)));
  }

  /** Fills its queue to the brim once. */
  async fill(batch: number): Promise<void> {
    while ((await this.#floodOnce(batch)) === 'accepted');
  }

  /** Hands in everything that is to be refused, in any order. */
  async attack(victim: string): Promise<void> {
    for (const { what, expected, call } of this.#rng.shuffle(hostileInputs(victim))) {
      this.attempts.push({ what, expected, got: await codeOf(() => call(this.#engine.service)) });
    }
  }

  /**
   * Makes groups that are called as those of the other, with jobs that are; waits until one job of each is a dead letter.
   * @param names - the ids of the other's groups.
   */
  async imitate(names: readonly string[]): Promise<void> {
    const { service, deadLetters } = this.#engine;
    for (const name of names) {
      const jobs = [floodJob('j0', 1), failing('j1')];
      await this.#must(`imitate ${name}`, () => service.addJobs(own(name), jobs));
    }
    const areDead = async () => (await deadLetters.count({ all: true, tenant: HOSTILE })) === names.length;
    await until(areDead, { what: 'the failing jobs to be dead letters', deadlineMs: DEAD_WITHIN_MS });
  }

  /**
   * Does to its own groups what would harm those of the other if they were meant.
   * @param names - the ids of the other's groups.
   */
  async meddle(names: readonly string[]): Promise<void> {
    const { service, deadLetters } = this.#engine;
    for (const name of names) {
      const id = own(name);
      await this.#must(`pause ${name}`, () => service.pauseGroup(id));
      await this.#must(`change ${name}`, () => service.updateGroup(id, { weight: WEIGHT_MAX, rps: 0.001 }));
      await this.#must(`redrive ${name}`, () => deadLetters.redrive({ groupId: id }));
      await this.#must(`purge ${name}`, () => deadLetters.purge({ groupId: id }));
      await this.#must(`seal ${name}`, () => service.seal(id));
      await this.#must(`cancel ${name}`, () => service.cancelGroup(id));
      await this.#must(`look for a job of ${name}`, () => service.getJob(id, 'j5'), 'JOB_NOT_FOUND');
    }
    for (const signature of new Set((await deadLetters.signatures()).map((cause) => cause.signature))) {
      await this.#must('purge a cause', () => deadLetters.purge({ signature, tenant: HOSTILE }));
      await this.#must('redrive a cause', () => deadLetters.redrive({ signature, tenant: HOSTILE }));
    }
  }

  /**
   * Cancels whatever it finds under its name.
   * @returns what it was shown.
   */
  async cancelAll(): Promise<readonly string[]> {
    const { service } = this.#engine;
    const shown = await allPages((cursor) =>
      service.listGroups({ tenant: HOSTILE }, { limit: PAGE, cursor }),
    );
    for (const { id } of shown) await service.cancelGroup(id);
    return shown.map(({ id }) => id);
  }

  async #floodOn(batch: number): Promise<void> {
    while (!this.#over) if ((await this.#floodOnce(batch)) !== 'accepted') await wait(FULL_AGAIN_MS);
  }

  async #floodOnce(batch: number): Promise<string> {
    const { service } = this.#engine;
    const id = own(`flood${this.#groups++ % 50}`);
    const jobs = Array.from({ length: batch }, () => floodJob(undefined, this.#rng.integer(...FLOOD_JOB_MS)));
    const got = await codeOf(async () => {
      await service.createGroup({ id, weight: WEIGHT_MAX, priorityLevel: 'high' });
      await service.addJobs(id, jobs);
    });
    if (got === 'accepted') this.accepted += batch;
    this.attempts.push({ what: 'flood', expected: got === 'accepted' ? got : 'QUEUE_FULL', got });
    return got;
  }

  async #must(what: string, call: () => Promise<unknown>, expected = 'accepted'): Promise<void> {
    this.attempts.push({ what, expected, got: await codeOf(call) });
  }
}

const floodJob = (id: string | undefined, ms: number) => ({
  id,
  processorType: PROCESSOR_TYPE,
  payload: { does: 'works', ms },
});

const failing = (id: string) => ({
  id,
  processorType: PROCESSOR_TYPE,
  payload: { does: 'fails-always', ms: 1 },
});

const codeOf = (call: () => Promise<unknown>): Promise<string> =>
  call().then(
    () => 'accepted',
    (error: unknown) => toWorkError(error).code,
  );
