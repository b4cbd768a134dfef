import { type Rng, seededRng } from '@millrace/foundation';
import { type Commit, Engine } from '../../../src/next/engine/engine.js';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import type { GroupSettings } from '../../../src/next/engine/state/change.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import type { BulkActionConfig } from '../../../src/options.js';
import { EventQueue } from '../../congestion/event-queue.js';
import { newJob, StoreModel } from '../engine/store.js';

/** The response of the called service to one call. */
interface ServiceAnswer {
  readonly accepted: boolean;
  readonly afterMs: number;
  /** Pause that a refusal asks for. */
  readonly retryAfterMs?: number | undefined;
}

/** One call of the service, with the time at which it arrived there. */
export interface ServiceCall {
  readonly atMs: number;
  readonly groupId: string;
  readonly position: number;
  readonly instanceId: string;
  /** Time of the start, by the engine. */
  readonly startedMs: number;
  readonly attempt: number;
  readonly retryCount: number;
  readonly accepted: boolean;
  /** When its response was there; undefined while it is under way. */
  endedMs: number | undefined;
}

/** An engine, and the service that its jobs call. */
export interface ServiceCallsOptions {
  readonly seed: string;
  readonly config?: BulkActionConfig;
  /** Processes (2), and their slots in all (50). */
  readonly instances?: number;
  readonly workers?: number;
  /** Processor types and the resource that each calls. */
  readonly resources?: { readonly [type: string]: string };
  answer(call: { readonly groupId: string; readonly type: string }, atMs: number): ServiceAnswer;
}

/** Any time after 1970: rules must not depend on small numbers. */
const EPOCH_MS = 1_700_000_000_000;
/** Timers are late by up to this, and a commit takes up to this. */
const LATENESS_MS = 1.5;
const COMMIT_MS = 1;
const API = { work: 'api' };

/** The new engine in virtual time, on a store that answers within a millisecond, with jobs that only call a service 1 to 2 ms away. */
export class ServiceCalls {
  readonly store = new StoreModel();
  readonly calls: ServiceCall[] = [];
  engine: Engine;
  /** Accepted calls that have been answered. */
  served = 0;
  readonly #options: ServiceCallsOptions;
  readonly #rng: Rng;
  readonly #events = new EventQueue();
  #wakeAtMs = Infinity;

  constructor(options: ServiceCallsOptions) {
    this.#options = options;
    this.#rng = seededRng(options.seed);
    this.engine = this.#open();
  }

  get nowMs(): number {
    return this.#events.nowMs;
  }

  /** Time of the store, in µs. */
  get nowUs(): number {
    return Math.floor((EPOCH_MS + this.#events.nowMs) * 1000);
  }

  /** Submits groups of so many jobs each, each of a tenant of its own. */
  submit(
    groupIds: readonly string[],
    jobs: number,
    options: {
      readonly type?: string;
      readonly isSealed?: boolean;
      readonly settings?: Partial<GroupSettings>;
    } = {},
  ): void {
    const { type = 'work', isSealed = false, settings = {} } = options;
    const bodies = Array.from({ length: jobs }, () => newJob({ type }));
    for (const id of groupIds) this.store.submit(id, bodies, { isSealed, settings });
    this.engine.receive(this.store.inbox.splice(0), this.nowUs);
  }

  /** Lets time pass until then, or until the condition holds. */
  run(untilMs: number, isDone: () => boolean = () => false): void {
    this.turn();
    for (let atMs = this.nowMs; atMs < untilMs && !isDone(); ) {
      atMs = Math.min(untilMs, atMs + 100);
      this.#events.runUntil(atMs);
    }
  }

  /** Another owner takes over: it knows what the store knows. */
  takeOver(): void {
    this.engine = this.#open();
    this.turn();
  }

  /** Commits until there is nothing more to do now. */
  turn(): void {
    for (let commit = this.engine.commit(this.nowUs); commit; commit = this.engine.commit(this.nowUs)) {
      this.store.write(commit, this.engine, this.nowUs);
      this.#run(commit);
    }
    const atMs = this.engine.wakeUs / 1000 - EPOCH_MS;
    if (atMs < this.#wakeAtMs) this.#wakeAt(Math.max(this.nowMs, atMs));
  }

  #open(): Engine {
    const { config = {}, instances = 2, workers = 50, resources = API } = this.#options;
    const engine = new Engine(resolveEngineConfig(config), this.#rng.fork('engine'));
    engine.open(this.store.load(), this.nowUs);
    for (let index = 0; index < instances; index++) {
      const types = Object.keys(resources);
      const seen = { id: `instance-${index}`, slots: workers / instances, types, resources };
      engine.receive([{ kind: 'instance', ...seen }], this.nowUs);
    }
    return engine;
  }

  #wakeAt(atMs: number): void {
    this.#wakeAtMs = atMs;
    this.#events.after(atMs - this.nowMs + LATENESS_MS * this.#rng.next(), () => {
      if (this.#wakeAtMs !== atMs) return;
      this.#wakeAtMs = Infinity;
      this.turn();
    });
  }

  #run({ deliveries }: Commit): void {
    const startedMs = this.nowMs;
    for (const [instanceId, jobs] of deliveries)
      for (const { groupId, position, attempt, body } of jobs) {
        const retryCount = this.engine.state.groups.get(groupId)?.inFlight.get(position)?.retryCount ?? 0;
        const job = { groupId, position, attempt, instanceId, startedMs, retryCount };
        this.#events.after(COMMIT_MS * this.#rng.next() + 1 + this.#rng.next(), () =>
          this.#call(job, body.type),
        );
      }
  }

  #call(job: Omit<ServiceCall, 'atMs' | 'accepted' | 'endedMs'>, type: string): void {
    const { groupId, position, attempt, instanceId, startedMs } = job;
    const answer = this.#options.answer({ groupId, type }, this.nowMs);
    const { accepted, afterMs, retryAfterMs } = answer;
    const call: ServiceCall = { ...job, atMs: this.nowMs, accepted, endedMs: undefined };
    this.calls.push(call);
    this.#events.after(afterMs + LATENESS_MS * this.#rng.next(), () => {
      call.endedMs = this.nowMs;
      if (accepted) this.served += 1;
      const outcome: AttemptOutcome = accepted
        ? { kind: 'success' }
        : { kind: 'throttled', random: this.#rng.next(), retryAfterMs };
      const durationMs = this.nowMs - startedMs;
      this.engine.settle(instanceId, { groupId, position, attempt, durationMs, outcome }, this.nowUs);
      this.turn();
    });
  }
}

/** Returns so many names of groups, each of a tenant of its own. */
export const groupIds = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `customer-${index}/action`);

/** Returns the calls per second that arrived (and were accepted) in a span of time. */
export function ratePerSecond(
  calls: readonly ServiceCall[],
  fromMs: number,
  toMs: number,
  counts: (call: ServiceCall) => boolean = ({ accepted }) => accepted,
): number {
  const counted = calls.filter((call) => call.atMs >= fromMs && call.atMs < toMs && counts(call));
  return (counted.length * 1000) / (toMs - fromMs);
}
