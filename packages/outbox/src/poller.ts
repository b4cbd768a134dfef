import {
  backoffMs,
  HeldLeases,
  Lifecycle,
  type Service,
  sleep,
  TIMED_OUT,
  withDeadline,
  withJitter,
} from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import { workerIdOf } from './options.js';
import type { ClaimedTask } from './ports.js';
import { ReadyLooks } from './ready-looks.js';
import { claimPauseMs } from './rules/claim-pace.js';
import { STOPPING, StopSwitch } from './stop-switch.js';
import type { TaskRunner } from './task-runner.js';

/** Pause after a failed claim. */
const FAILURE_PAUSE_FIRST_MS = 100;
const FAILURE_PAUSE_MAX_MS = 2_000;

/** Maximum number of claims held at once, as a multiple of the concurrency. It counts ended handlers not yet stored. */
const UNWRITTEN_FACTOR = 3;

/** Share of the grace period that is reserved for releasing tasks, whatever the handlers do. */
const GIVING_BACK_SHARE = 0.2;

/** A claimed task, and the switch that stops its handler. */
interface Claim {
  readonly task: ClaimedTask;
  readonly stop: StopSwitch;
}

/**
 * Claims tasks and runs them, up to `concurrency` at once. It claims after a hint, when a slot becomes free and more tasks
 * are known to be ready, and every `pollIntervalMs`, because hints may be lost.
 */
export class Poller implements Service {
  /** Identifies its claims. */
  readonly workerId: string;
  readonly #kit: Kit;
  readonly #looks: ReadyLooks;
  readonly #runner: TaskRunner;
  readonly #claims: HeldLeases<string, Claim>;
  readonly #lifecycle: Lifecycle;
  readonly #stopping = new AbortController();
  /** Time of the last hint to other instances, by DAG. */
  readonly #toldMs = new Map<string, number>();
  #busy = 0;
  /** True if the last claim got about as many tasks as it could, so that there are probably more. */
  #hasMore = false;
  #isWoken = false;
  #wake: () => void = () => {};
  #loop: Promise<void> = Promise.resolve();
  #unlisten: () => void = () => {};

  constructor(kit: Kit, runner: TaskRunner) {
    this.#kit = kit;
    this.#runner = runner;
    this.#looks = new ReadyLooks(kit.tasks, kit.options);
    this.#claims = claimsOf(kit);
    this.workerId = workerIdOf(kit.options);
    this.#lifecycle = new Lifecycle('The poller', { start: () => this.#start(), stop: () => this.#stop() });
  }

  /** Number of tasks that run here now. */
  get busy(): number {
    return this.#busy;
  }

  /** True if more tasks can run than there are slots for. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Starts to claim tasks. */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /** Claims no more tasks, lets running ones finish within the grace period, then releases the rest. */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Looks for work now. */
  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  #start(): void {
    this.#unlisten = this.#kit.wakeUps.on((hint) => {
      if (hint.kind === 'aborted') this.#abortBatch(hint.batchId);
      else if (hint.kind === 'work' && this.#kit.registry.names.includes(hint.dag)) this.wake();
    });
    this.#loop = this.#run();
  }

  async #stop(): Promise<void> {
    const { clock, gracePeriodMs, logger } = this.#kit.options;
    this.#stopping.abort();
    this.wake();
    this.#unlisten();
    const ended = this.#loop.then(() => this.#claims.idle());
    if ((await withDeadline(clock, gracePeriodMs * (1 - GIVING_BACK_SHARE), ended)) === TIMED_OUT) {
      for (const { stop } of this.#claims.all()) stop.stop(STOPPING);
      const isEnded = (await withDeadline(clock, gracePeriodMs * GIVING_BACK_SHARE, ended)) !== TIMED_OUT;
      if (!isEnded && this.#claims.size > 0)
        logger.warn({ tasks: this.#claims.size }, 'Tasks could not be given back; their leases will end');
    }
    this.#claims.stop();
  }

  #abortBatch(batchId: string): void {
    for (const { task, stop } of this.#claims.all())
      if (task.batchId === batchId) stop.stop(ERRORS.create('CLAIM_LOST', {}));
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#isWoken = false;
      const free = this.#free();
      try {
        if (free > 0) await this.#claim(free);
        failures = 0;
      } catch (error) {
        failures++;
        const { clock, rng, logger } = this.#kit.options;
        logger.warn({ reason: String(error) }, 'Claiming tasks failed, will retry');
        const pause = { attempt: failures, baseMs: FAILURE_PAUSE_FIRST_MS, maxMs: FAILURE_PAUSE_MAX_MS };
        const pauseMs = backoffMs({ strategy: 'exponential', ...pause });
        await sleep(clock, withJitter(pauseMs, -0.5, rng.next()), this.#stopping.signal);
        continue;
      }
      await this.#pause();
    }
  }

  /** Counts the free slots: none while too many completions are not stored yet. */
  #free(): number {
    const { concurrency } = this.#kit.options;
    return Math.min(concurrency - this.#busy, UNWRITTEN_FACTOR * concurrency - this.#claims.size);
  }

  async #claim(free: number): Promise<void> {
    const { names: dags, runnableVersions: versions } = this.#kit.registry;
    if (versions.length === 0) return;
    const { leaseMs, rng } = this.#kit.options;
    // In a fixed order the tasks of the first DAG would always come first.
    const claimer = { dags: rng.shuffle(dags), versions, workerId: this.workerId, leaseMs };
    const claimed = await this.#looks.claim(claimer, free);
    // A claim that met stale entries may have taken fewer than there are.
    this.#hasMore = claimed.length > 0 && claimed.length * 2 >= free;
    if (this.#hasMore) this.#tellOthers(new Set(claimed.map((task) => task.dag)));
    for (const task of claimed) this.#begin(task);
  }

  /** Notifies other instances of work, at most once per poll interval, because a NOTIFY costs a commit. */
  #tellOthers(dags: ReadonlySet<string>): void {
    const nowMs = this.#kit.options.clock.monotonicMs();
    for (const dag of dags) {
      if (nowMs < (this.#toldMs.get(dag) ?? Number.NEGATIVE_INFINITY) + this.#kit.options.pollIntervalMs)
        continue;
      this.#toldMs.set(dag, nowMs);
      this.#kit.wakeUps.others({ kind: 'work', dag });
    }
  }

  #begin(task: ClaimedTask): void {
    this.#busy++;
    let isFree = false;
    const free = () => {
      if (isFree) return;
      isFree = true;
      this.#busy--;
      this.#wake();
    };
    const stop = new StopSwitch();
    const claim = { task, stop };
    const ended = () => {
      this.#claims.release(claim);
      this.#wake();
    };
    this.#claims.hold(claim);
    // A claim that arrives after the stop began is held only until it is released.
    if (this.#stopping.signal.aborted) stop.stop(STOPPING);
    this.#runner.run(task, stop, { free, ended });
  }

  /** Waits until the next claim is worthwhile. */
  async #pause(): Promise<void> {
    const { clock, rng, concurrency, pollIntervalMs } = this.#kit.options;
    const intervalMs = withJitter(pollIntervalMs, -0.2, rng.next());
    const sinceMs = clock.monotonicMs();
    while (!this.#stopping.signal.aborted) {
      const pauseMs = claimPauseMs({
        free: this.#free(),
        concurrency,
        isWoken: this.#isWoken,
        hasMore: this.#hasMore,
        sinceMs: clock.monotonicMs() - sinceMs,
        intervalMs,
      });
      if (pauseMs === 0) return;
      await this.#changeWithin(pauseMs);
    }
  }

  #changeWithin(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = Number.isFinite(pauseMs) ? this.#kit.options.clock.setTimer(pauseMs, resolve) : () => {};
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Makes the set of claims of a worker. A handler whose claim is lost is told to stop. */
function claimsOf({ tasks, options }: Kit): HeldLeases<string, Claim> {
  const { clock, logger, database, heartbeatMs, leaseMs } = options;
  return new HeldLeases({
    clock,
    logger,
    // An embedded database has one session, in which a heartbeat would wait for the very handler that it belongs to.
    everyMs: database.kind === 'pglite' ? Number.POSITIVE_INFINITY : heartbeatMs,
    keyOf: ({ task }) => task.claimId,
    async extend(claims) {
      const lost = await tasks.extend(
        claims.map(({ task }) => task),
        leaseMs,
      );
      return claims.filter(({ task }) => lost.has(task.id));
    },
    onLost: ({ stop }) => stop.stop(ERRORS.create('CLAIM_LOST', {})),
  });
}
