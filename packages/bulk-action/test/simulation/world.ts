import { type Rng, seededRng } from '@millrace/foundation';
import { MemoryStore } from '../../src/memory/store.js';
import type { BulkStore } from '../../src/ports.js';
import { Chaos, type OtherFault, type Tally } from './chaos.js';
import { Client } from './client.js';
import { type FaultyStoreParts, faultyStore } from './faulty-store.js';
import { Instance } from './instance.js';
import { Audit } from './invariants.js';
import { PoolCheck } from './pool-check.js';
import { COMMON_TYPE, Ledger, RARE_TYPE } from './processors.js';
import { drawScenario, type Scenario } from './scenario.js';
import { EventLog, Scheduler, type SimProcess } from './scheduler.js';
import { Truth, Violations } from './truth.js';
import { Witness } from './witness.js';

/** How a run is made. */
export interface WorldOptions {
  readonly tally: Tally;
  /** Breaks the store on purpose; the run must notice. */
  readonly mutate?: ((store: BulkStore) => BulkStore) | undefined;
  /** Whether to keep the lines of the event log. */
  readonly verbose?: boolean | undefined;
}

/** What happens to instances from outside, besides the faults of single calls. */
export const INSTANCE_OPERATIONS = ['scale workers', 'stop an instance', 'start an instance'] as const;

const INSTANCES_MAX = 4;

/** Everything of one run: the store, the network, whoever submits, and the processes that work. */
export class World {
  readonly scenario: Scenario;
  readonly scheduler: Scheduler;
  readonly violations: Violations;
  readonly truth = new Truth();
  readonly ledger = new Ledger();
  readonly chaos: Chaos;
  readonly client: Client;
  readonly audit: Audit;
  readonly witness: Witness;
  readonly poolCheck: PoolCheck;
  /** Those that live and were not told to stop. */
  readonly instances = new Set<Instance>();
  readonly rng: Rng;
  readonly tally: Tally;
  readonly #storeProcess: SimProcess;
  readonly #network: SimProcess;
  readonly #parts: FaultyStoreParts;
  readonly store: BulkStore;
  #started = 0;
  /** How far the store's wall clock was set back in all: what has a date waits so much longer. */
  wentBackMs = 0;

  constructor(seed: number, { tally, mutate = (store) => store, verbose = false }: WorldOptions) {
    this.tally = tally;
    this.rng = seededRng(seed);
    this.scheduler = new Scheduler(this.rng.fork('order'), new EventLog(verbose));
    this.violations = new Violations(() => this.scheduler.time);
    this.poolCheck = new PoolCheck(this.violations);
    this.#storeProcess = this.scheduler.process('store');
    this.#network = this.scheduler.process('network');
    const { clock } = this.#storeProcess;
    this.scenario = drawScenario(this.rng.fork('scenario'), clock.now());
    const { config, rates } = this.scenario;
    const { ackTimeoutMs } = config.reliableQueue;
    const time = () => this.scheduler.time;
    this.chaos = new Chaos(this.rng.fork('chaos'), rates, tally, ackTimeoutMs, time);
    const { scheduler, truth, violations, chaos } = this;
    this.store = mutate(new MemoryStore(config, { clock }));
    const { store } = this;
    this.witness = new Witness({ store, config, truth, violations, scheduler, clock, tally });
    const kill = (process: SimProcess) => this.kill(process);
    this.#parts = {
      scheduler,
      chaos,
      network: this.#network,
      execute: this.witness.execute,
      wakeUps: store.wakeUps,
      kill,
      note: (...call) => this.poolCheck.note(...call),
    };
    const process = scheduler.process('client');
    this.client = new Client({
      process,
      store: faultyStore(process, this.#parts),
      config,
      scenario: this.scenario,
      rng: this.rng.fork('client'),
      tally,
      violations,
    });
    this.audit = new Audit({
      store,
      truth,
      ledger: this.ledger,
      violations,
      acknowledged: this.client.acknowledged,
      aggregates: this.scenario.aggregates,
    });
  }

  /** Makes something happen at a time of the run. */
  at(ms: number, label: string, run: () => void): void {
    this.scheduler.schedule(this.#network, Math.max(0, ms - this.scheduler.time), label, run);
  }

  /** Starts one more process that works, if there are not too many. */
  startInstance(all = false): void {
    if (!all && this.instances.size >= INSTANCES_MAX) return;
    const { scheduler, chaos, tally, ledger, violations, scenario } = this;
    const process = scheduler.process(`i${++this.#started}`);
    const rng = this.rng.fork(process.name);
    const types = all || rng.chance(0.7) ? [COMMON_TYPE, RARE_TYPE] : [COMMON_TYPE];
    const instance = new Instance({
      process,
      store: faultyStore(process, this.#parts),
      config: scenario.config,
      rng,
      workers: scenario.workers,
      aggregates: scenario.aggregates,
      types,
      violations,
      processors: {
        process,
        scheduler,
        chaos,
        tally,
        ledger,
        leaseMs: scenario.config.reliableQueue.ackTimeoutMs,
        kill: (who) => this.kill(who),
      },
    });
    this.instances.add(instance);
    instance.start();
  }

  /** Ends a process as `kill -9` would; most come back as a new one after a while. */
  kill(process: SimProcess): void {
    if (!process.alive) return;
    this.scheduler.kill(process);
    for (const instance of this.instances) if (instance.process === process) this.instances.delete(instance);
    if (!this.chaos.on || !this.chaos.coin()) return;
    const restart = () => this.chaos.on && this.startInstance();
    this.at(this.scheduler.time + this.chaos.longDelay() / 4, 'a new instance', restart);
  }

  /** Stops an instance as an operator would. */
  stopInstance(instance: Instance): void {
    this.instances.delete(instance);
    instance.stop(() => this.#stopped(instance));
  }

  /** A stop that nothing disturbs leaves nothing under a lease. */
  #stopped({ process }: Instance): void {
    if (this.scenario.rates.call > 0) return;
    const held = [...this.truth.leased].filter(({ lease }) => lease?.instanceId === process.name);
    this.violations.check(
      held.length === 0,
      'I11',
      () => `${process.name} stopped and kept ${held.map(({ name }) => name)}`,
    );
  }

  /** One thing that happens to a process or a clock. */
  disturb(what: OtherFault | (typeof INSTANCE_OPERATIONS)[number]): void {
    const { rng, chaos } = this;
    const until = this.scheduler.time + chaos.longDelay();
    const instance = this.instances.size > 0 ? rng.pick([...this.instances]) : undefined;
    this.tally.count(what);
    const { clock } = this.#storeProcess;
    switch (what) {
      case 'scale workers':
        instance?.scale(rng.integer(0, 4));
        break;
      case 'stop an instance':
        if (instance) this.stopInstance(instance);
        // What it gives back may belong to a round that has just ended.
        if (rng.chance(0.4)) void this.client.operate('cancel');
        break;
      case 'start an instance':
        this.startInstance();
        break;
      case 'killed between two steps':
        if (instance) this.kill(instance.process);
        break;
      case 'event loop blocked':
        if (instance) instance.process.frozenUntil = until;
        break;
      case 'store unreachable for all':
        chaos.outageUntil = until;
        break;
      case 'store unreachable for one':
        if (instance) chaos.cutOffUntil.set(instance.process, until);
        break;
      case 'store clock forward':
        clock.jump(rng.integer(100, 60_000));
        break;
      case 'store clock back':
        this.#jumpBack(rng.integer(100, 60_000));
        break;
      case 'process clock jumps':
        instance?.process.clock.jump(rng.integer(-60_000, 60_000));
        break;
      default:
        throw new Error(`${what} does not come from outside`);
    }
  }

  #jumpBack(ms: number): void {
    this.#storeProcess.clock.jump(-ms);
    this.wentBackMs += ms;
    this.witness.clockWentBack = true;
  }
}
