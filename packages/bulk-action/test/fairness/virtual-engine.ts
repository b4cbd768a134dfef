import { type Rng, seededRng, sleep } from '@millrace/foundation';
import { BulkActionService } from '../../src/bulk-action-service.js';
import { openMemoryStore } from '../../src/memory/open-store.js';
import type { GroupInput, QueuesView } from '../../src/model.js';
import {
  type BulkActionConfig,
  type ResolvedBulkActionConfig,
  resolveBulkActionConfig,
} from '../../src/options.js';
import { WorkerPool } from '../../src/pool/worker-pool.js';
import type { BulkStore } from '../../src/ports.js';
import { defineProcessor, type Job, type JobContext, ProcessorRegistry } from '../../src/processor.js';
import { addAlike, type JobMaker } from './add-alike.js';
import { type Recording, recorded } from './recorded-store.js';
import { VirtualClock } from './virtual-clock.js';

/** An engine in virtual time. */
export interface VirtualEngineOptions {
  readonly seed: string;
  readonly config?: BulkActionConfig;
  /** Pools on the one store (1). */
  readonly instances?: number;
  /** Virtual time of every call of the store (0). */
  readonly roundTripMs?: number;
  /** Timers of the pool fire up to so much late (0). */
  readonly latenessMs?: number;
  /** Types of the jobs (`work`), all done alike. */
  readonly types?: readonly string[];
  /** Looks at the queues after every step of the store. */
  readonly onStep?: (step: string, queues: QueuesView) => void;
  /** How long a try of a job takes; negative: it fails after that time. */
  serviceMs(job: Job, rng: Rng, context: JobContext): number;
}

/** The shipped worker pool on the memory store, with jobs that take virtual time. */
export class VirtualEngine {
  readonly clock: VirtualClock;
  readonly config: ResolvedBulkActionConfig;
  readonly service: BulkActionService;
  readonly pools: readonly WorkerPool[];
  readonly store: BulkStore;
  /** Everything that started, stamped by reserve. */
  readonly recording: Recording;

  constructor(options: VirtualEngineOptions) {
    const { seed, instances = 1, roundTripMs = 0, latenessMs, types = ['work'], onStep } = options;
    const rng = seededRng(seed);
    this.clock = new VirtualClock({ latenessMs, rng: rng.fork('lateness') });
    const { clock } = this;
    this.config = resolveBulkActionConfig(options.config);
    this.store = openMemoryStore(this.config, { clock });
    const { store, recording } = recorded(this.store, { clock, roundTripMs, onStep });
    this.recording = recording;
    this.service = new BulkActionService({ store: this.store, config: this.config, clock, rng });
    const serviceRng = rng.fork('service');
    const process = async (job: Job, context: JobContext) => {
      const ms = options.serviceMs(job, serviceRng, context);
      await sleep(clock, Math.abs(ms), context.signal);
      if (ms < 0) throw new Error('not this time');
    };
    const processors = types.map((type) => defineProcessor({ type, process }));
    this.pools = Array.from(
      { length: instances },
      (_, index) =>
        new WorkerPool({
          store,
          config: this.config,
          processors: new ProcessorRegistry(processors),
          clock,
          rng: rng.fork(`pool ${index}`),
          instanceId: `instance-${index}`,
        }),
    );
  }

  /** Submits a group of `count` jobs, all alike unless a function makes each. */
  async submit(group: GroupInput, count: number, jobOf?: JobMaker): Promise<void> {
    await this.service.createGroup(group);
    await this.add(group.id, count, jobOf);
  }

  /** Adds jobs to a group; ids go on from where they are. */
  add(groupId: string, count: number, jobOf?: JobMaker): Promise<void> {
    return addAlike(this.service, groupId, count, jobOf);
  }

  /** Starts the pools; they do nothing before time passes. */
  async start(): Promise<void> {
    for (const pool of this.pools) await pool.start();
  }

  /** Lets time pass until so many jobs have started in all. */
  async untilStarted(count: number, withinMs = 3_600_000): Promise<void> {
    const { starts } = this.recording;
    const end = this.clock.monotonicMs() + withinMs;
    if (await this.clock.run(() => starts.length >= count, end)) return;
    throw new Error(`expected ${count} starts within ${withinMs} ms, got ${starts.length}`);
  }

  /** Lets so much time pass. */
  async pass(ms: number): Promise<void> {
    await this.clock.run(() => false, this.clock.monotonicMs() + ms);
  }

  /** Stops the pools; jobs that run are given up with the virtual grace period. */
  async stop(): Promise<void> {
    let stopped = false;
    void Promise.all(this.pools.map((pool) => pool.stop())).then(() => {
      stopped = true;
    });
    const grace = this.config.workerPool.shutdownGracePeriodMs + 120_000;
    if (!(await this.clock.run(() => stopped, this.clock.monotonicMs() + grace)))
      throw new Error('the pools did not stop');
  }

  /** Starts, lets a scenario happen, stops. */
  async run(scenario: () => Promise<void>): Promise<void> {
    await this.start();
    try {
      await scenario();
    } finally {
      await this.stop();
    }
  }
}
