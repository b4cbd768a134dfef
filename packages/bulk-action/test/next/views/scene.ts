import { seededRng } from '@millrace/foundation';
import type { BulkActionConfig } from '../../../src/index.js';
import { type Delivery, Engine, type InboxEntry } from '../../../src/next/engine/engine.js';
import type { NewJob } from '../../../src/next/engine/format/chunk.js';
import type { AttemptOutcome } from '../../../src/next/engine/run/settle.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import { chunkAddress, DEFAULT_QUEUE, firstPosition } from '../../../src/next/engine/state/position.js';
import type { Group, Tenant } from '../../../src/next/engine/state/records.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';
import { explain } from '../../../src/next/engine/views/explain.js';
import type { GateName, GateView } from '../../../src/next/engine/views/gates.js';
import { newJob, StoreModel } from '../engine/store.js';

type SubmitOptions = Parameters<StoreModel['submit']>[2];

/** A job that an instance runs. */
export interface Running extends Delivery {
  readonly instanceId: string;
}

/** An engine beside a store model, moved by hand. */
export class Scene {
  readonly store = new StoreModel();
  readonly engine: Engine;
  /** Jobs that run now, in the order of their starts. */
  readonly running: Running[] = [];
  nowUs = 1_000_000_000_000;

  constructor(config: BulkActionConfig = {}) {
    const backpressure = { globalRps: 0, ...config.backpressure };
    this.engine = new Engine(resolveEngineConfig({ ...config, backpressure }), seededRng(1));
    this.engine.open(this.store.load(), this.nowUs);
  }

  get state(): EngineState {
    return this.engine.state;
  }

  receive(...entries: InboxEntry[]): void {
    this.engine.receive(entries, this.nowUs);
  }

  instance(id: string, slots: number, types: readonly string[] = ['T']): void {
    this.receive({ kind: 'instance', id, slots, types });
  }

  submit(groupId: string, jobs: number | readonly Partial<NewJob>[], options?: SubmitOptions): void {
    const list = typeof jobs === 'number' ? Array.from({ length: jobs }, () => ({})) : jobs;
    this.store.submit(groupId, list.map(newJob), options);
    this.receive(...this.store.inbox.splice(0));
  }

  /** Makes one commit and returns what has started; undefined if there was nothing to store. */
  commitOnce(): readonly Running[] | undefined {
    const commit = this.engine.commit(this.nowUs);
    if (!commit) return undefined;
    this.store.write(commit, this.engine, this.nowUs);
    const started = [...commit.deliveries].flatMap(([instanceId, deliveries]) =>
      deliveries.map((delivery) => ({ ...delivery, instanceId })),
    );
    this.running.push(...started);
    return started;
  }

  /** Commits until nothing is left to store, and returns what has started. */
  commit(afterMs = 0): readonly Running[] {
    this.nowUs += afterMs * 1000;
    const all: Running[] = [];
    for (let started = this.commitOnce(); started; started = this.commitOnce()) all.push(...started);
    return all;
  }

  /** Settles the job that has run longest. */
  settle(outcome: AttemptOutcome = { kind: 'success' }, durationMs = 10): void {
    const [job] = this.running.splice(0, 1);
    if (!job) throw new Error('No job runs');
    this.engine.settle(job.instanceId, { ...job, durationMs, outcome }, this.nowUs);
  }

  group(id: string): Group {
    return this.state.groups.get(id) as Group;
  }

  tenant(id: string): Tenant {
    return this.state.tenants.get(id) as Tenant;
  }

  /** Returns the gates of a job, by its number in its queue. */
  gates(groupId: string, at = 0, queue = DEFAULT_QUEUE): readonly GateView[] {
    return explain(this.state, this.group(groupId), positionAt(at, queue))?.gates ?? [];
  }

  etaMs(groupId: string, at = 0): number | null | undefined {
    return explain(this.state, this.group(groupId), positionAt(at))?.etaMs;
  }

  gateNames(groupId: string, at = 0, queue = DEFAULT_QUEUE): readonly GateName[] {
    return this.gates(groupId, at, queue).map(({ gate }) => gate);
  }
}

/** Returns the position of a job by its number in its queue. */
export const positionAt = (at: number, queue = DEFAULT_QUEUE): number =>
  firstPosition(chunkAddress(queue, 0)) + at;
