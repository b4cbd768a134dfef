import { seededRng } from '@millrace/foundation';
import { expect } from 'vitest';
import type { BulkActionConfig } from '../../../src/index.js';
import { type Delivery, Engine, type InboxEntry } from '../../../src/next/engine/engine.js';
import type { NewJob } from '../../../src/next/engine/format/chunk.js';
import type { Command } from '../../../src/next/engine/groups/commands.js';
import {
  type EngineConfig,
  type NewOptions,
  resolveEngineConfig,
} from '../../../src/next/engine/state/config.js';
import type { CommandResult, JobRef, Message } from '../../../src/next/engine/state/message.js';
import { chunkAddress, DEFAULT_QUEUE, firstPosition } from '../../../src/next/engine/state/position.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import { image } from '../engine/image.js';
import { newJob, StoreModel } from '../engine/store.js';

/** A job that an instance holds. */
export interface Held extends Delivery {
  readonly instanceId: string;
}

/** An engine beside a store model, moved by hand. `b` asks for commands and has no slots. */
export class Stage {
  readonly store = new StoreModel();
  readonly #config: EngineConfig;
  #engine: Engine;
  /** Jobs delivered and not settled, in the order of their starts. */
  held: Held[] = [];
  /** Messages delivered, by instance. */
  readonly mail = new Map<string, Message[]>();
  #nonce = 0;
  nowUs = 1_000_000_000_000;

  constructor(
    config: BulkActionConfig = {},
    readonly ownId = '',
    options: Partial<NewOptions> = {},
  ) {
    const backpressure = { globalRps: 0, ...config.backpressure };
    this.#config = resolveEngineConfig({ ...config, backpressure }, options);
    this.#engine = this.#open();
  }

  #open(): Engine {
    const engine = new Engine(this.#config, seededRng(1));
    engine.open(this.store.load(), this.nowUs, this.ownId);
    return engine;
  }

  get engine(): Engine {
    return this.#engine;
  }

  get nowMs(): number {
    return this.nowUs / 1000;
  }

  receive(...entries: InboxEntry[]): void {
    this.#engine.receive(entries, this.nowUs);
  }

  instance(id: string, slots: number): void {
    this.receive({ kind: 'instance', id, slots, types: ['T'] });
  }

  submit(
    groupId: string,
    jobs: number | readonly Partial<NewJob>[],
    options?: Parameters<StoreModel['submit']>[2],
  ): void {
    const list = typeof jobs === 'number' ? Array.from({ length: jobs }, () => ({})) : jobs;
    this.store.submit(groupId, list.map(newJob), options);
    this.receive(...this.store.inbox.splice(0));
  }

  /** Moves on and commits until nothing is left to store. Returns what has started. */
  run(afterMs = 0): readonly Held[] {
    this.nowUs += afterMs * 1000;
    const all: Held[] = [];
    for (let commit = this.#engine.commit(this.nowUs); commit; commit = this.#engine.commit(this.nowUs)) {
      this.store.write(commit, this.#engine, this.nowUs);
      for (const [id, messages] of commit.messages)
        this.mail.set(id, [...(this.mail.get(id) ?? []), ...messages]);
      for (const [instanceId, deliveries] of commit.deliveries)
        all.push(...deliveries.map((delivery) => ({ ...delivery, instanceId })));
    }
    this.held.push(...all);
    return all;
  }

  /** Settles jobs that are held, all by default. Returns how many counted. */
  settle(jobs: readonly Held[] = this.held): number {
    this.held = this.held.filter((job) => !jobs.includes(job));
    let counted = 0;
    for (const { instanceId, ...job } of jobs) {
      const settlement = { ...job, durationMs: 10, outcome: { kind: 'success' } as const };
      if (this.#engine.settle(instanceId, settlement, this.nowUs)) counted += 1;
    }
    return counted;
  }

  /** Returns the result of a command that is answered with the next commits, or undefined if it is not answered yet. */
  ask(command: Command, nonce = ++this.#nonce): CommandResult | undefined {
    this.receive({ kind: 'notice', instanceId: 'b', nonce, command });
    this.run();
    return this.answer(nonce);
  }

  answer(nonce = this.#nonce): CommandResult | undefined {
    for (const message of this.mail.get('b') ?? [])
      if (message.kind === 'answer' && message.nonce === nonce) return message.result;
    return undefined;
  }

  /** Answers the last recall of an instance: `returned` were not launched. */
  answerRecall(instanceId: string, returned: readonly JobRef[], launched: readonly JobRef[] = []): void {
    const recall = this.mail.get(instanceId)?.findLast(({ kind }) => kind === 'recall');
    if (recall?.kind !== 'recall') throw new Error(`${instanceId} got no recall`);
    this.held = this.held.filter((job) => !returned.includes(job));
    this.receive({ kind: 'recalled', instanceId, number: recall.number, returned, launched });
    this.run();
  }

  /** Replaces the engine by one that is rebuilt from the store and must be equal. */
  takeOver(): void {
    const other = this.#open();
    expect(image(other.state)).toEqual(image(this.#engine.state));
    this.#engine = other;
  }

  group(id: string): Group {
    return this.#engine.state.groups.get(id) as Group;
  }
}

/** Returns the position of a job by its number in the default queue. */
export const positionAt = (at: number): number => firstPosition(chunkAddress(DEFAULT_QUEUE, 0)) + at;

export const OPEN = { settings: { isSealable: false } };
