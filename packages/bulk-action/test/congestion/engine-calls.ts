import { RateLimitedError, type Rng, seededRng, sleep } from '@millrace/foundation';
import { BulkActionService } from '../../src/bulk-action-service.js';
import { MemoryStore } from '../../src/memory/store.js';
import { type BulkActionConfig, resolveBulkActionConfig } from '../../src/options.js';
import { WorkerPool } from '../../src/pool/worker-pool.js';
import { defineProcessor, type Job, ProcessorRegistry } from '../../src/processor.js';
import { addAlike } from '../fairness/add-alike.js';
import { type Recording, recorded } from '../fairness/recorded-store.js';
import { VirtualClock } from '../fairness/virtual-clock.js';

/** What the called service does with one call. */
interface ServiceAnswer {
  readonly accepted: boolean;
  readonly afterMs: number;
  /** What a refusal asks for. */
  readonly retryAfterMs?: number | undefined;
}

/** One call of the service, stamped when it arrived there. */
export interface ServiceCall {
  readonly atMs: number;
  readonly groupId: string;
  readonly jobId: string;
  /** Which try of its job it is, from 1; and the retries that were spent before it. */
  readonly attempt: number;
  readonly retryCount: number;
  readonly accepted: boolean;
  /** When its answer was there; undefined while it is under way. */
  endedMs: number | undefined;
  /** From the start of the try to its answer. */
  tookMs: number;
}

/** The shipped engine and the service that its jobs call. */
export interface EngineCallsOptions {
  readonly seed: string;
  readonly config?: BulkActionConfig;
  /** Processes on the one store (2), and their workers in all (50). */
  readonly instances?: number;
  readonly workers?: number;
  /** How far away the store is (0); timers being late, every call of it takes up to 3 ms more than that. */
  readonly roundTripMs?: number;
  /** What the service does with a call that arrives now. */
  answer(job: Job, atMs: number): ServiceAnswer;
}

const LATENESS_MS = 1.5;

/**
 * The shipped worker pools on the memory store in virtual time, with timers that are late as those of a machine are, and
 * jobs that do nothing but call a service 1 to 2 ms away.
 */
export class EngineCalls {
  readonly clock: VirtualClock;
  readonly service: BulkActionService;
  readonly store: MemoryStore;
  readonly pools: readonly WorkerPool[];
  /** Everything that started, stamped by reserve. */
  readonly recording: Recording;
  readonly calls: ServiceCall[] = [];
  /** Calls that were accepted and have been answered. */
  served = 0;
  readonly #answer: EngineCallsOptions['answer'];
  readonly #network: Rng;

  constructor(options: EngineCallsOptions) {
    const { seed, config: given, instances = 2, workers = 50, roundTripMs = 0, answer } = options;
    const rng = seededRng(seed);
    this.clock = new VirtualClock({ latenessMs: LATENESS_MS, rng: rng.fork('lateness') });
    const { clock } = this;
    this.#answer = answer;
    this.#network = rng.fork('network');
    const config = resolveBulkActionConfig({
      ...given,
      workerPool: { workerCount: workers / instances, ...given?.workerPool },
    });
    this.store = new MemoryStore(config, { clock });
    const { store, recording } = recorded(this.store, { clock, roundTripMs });
    this.recording = recording;
    this.service = new BulkActionService({ store: this.store, config, clock, rng: rng.fork('ids') });
    const work = defineProcessor({
      type: 'work',
      resource: 'api',
      process: (job, { attempt }) => this.#call(job, attempt),
    });
    this.pools = Array.from(
      { length: instances },
      (_, index) =>
        new WorkerPool({
          store,
          config,
          processors: new ProcessorRegistry([work]),
          clock,
          rng: rng.fork(`pool ${index}`),
          instanceId: `instance-${index}`,
        }),
    );
  }

  /** Submits groups of so many jobs each, every one a customer of its own. */
  async submit(groupIds: readonly string[], jobs: number): Promise<void> {
    for (const id of groupIds) await addAlike(this.service, id, jobs);
  }

  /** Lets time pass until the condition holds, or until then; then stops the pools. */
  async run(untilMs: number, done: () => boolean = () => false): Promise<boolean> {
    for (const pool of this.pools) await pool.start();
    const held = await this.clock.run(done, untilMs);
    let stopped = false;
    void Promise.all(this.pools.map((pool) => pool.stop())).then(() => {
      stopped = true;
    });
    if (!(await this.clock.run(() => stopped, this.clock.monotonicMs() + 200_000)))
      throw new Error('the pools did not stop');
    return held;
  }

  async #call(job: Job, attempt: number): Promise<void> {
    const { clock } = this;
    const { groupId, id: jobId, retryCount } = job;
    const startedMs = clock.monotonicMs();
    await sleep(clock, 1 + this.#network.next());
    const atMs = clock.monotonicMs();
    const { accepted, afterMs, retryAfterMs } = this.#answer(job, atMs);
    const whose = { groupId, jobId, attempt, retryCount };
    const call: ServiceCall = { ...whose, atMs, accepted, endedMs: undefined, tookMs: 0 };
    this.calls.push(call);
    await sleep(clock, afterMs);
    call.endedMs = clock.monotonicMs();
    call.tookMs = call.endedMs - startedMs;
    if (!accepted) throw new RateLimitedError({ retryAfterMs });
    this.served += 1;
  }
}

/** So many names of groups. */
export const groupIds = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `customer-${index}/action`);

/** Calls per second that arrived (and were accepted) in a span of time. */
export function ratePerSecond(
  calls: readonly ServiceCall[],
  fromMs: number,
  toMs: number,
  counts: (call: ServiceCall) => boolean = ({ accepted }) => accepted,
): number {
  const counted = calls.filter((call) => call.atMs >= fromMs && call.atMs < toMs && counts(call));
  return (counted.length * 1000) / (toMs - fromMs);
}
