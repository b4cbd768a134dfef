import type { Rng } from '@millrace/foundation';
import { type Commit, Engine, type InboxEntry } from '../../../src/next/engine/engine.js';
import { isFound } from '../../../src/next/engine/groups/job-commands.js';
import type { Settlement } from '../../../src/next/engine/run/settle.js';
import type { EngineConfig } from '../../../src/next/engine/state/config.js';
import type { Journal } from './journal.js';
import { backloggedIn } from './judge-fairness.js';
import type { Committed, Input, Step } from './trace.js';

/** Records are written early, so that short runs meet every age of them. */
const CHECKPOINT = { commits: 12, changes: 300 };

/** A commit on its way to the journal. */
interface Sent {
  readonly commit: Commit;
  readonly steps: readonly Step[];
  readonly consumed: number;
  readonly buried: readonly string[];
}

/** The loop of an owner around an engine: feeds it, and keeps what it decided at each input. */
export class Owner {
  readonly engine: Engine;
  sent: Sent | undefined;
  /** Inputs since the last commit. */
  steps: Step[] = [];
  /** Entries of the inbox that the engine has been given. */
  received: number;
  #buried: string[] = [];
  #waiting: InboxEntry | undefined;
  /** Entries consumed before, less those that only this owner was given. */
  readonly #opened: number;
  /** Engine time less monotonic time. Never becomes less. */
  #aheadUs: number;

  constructor(
    private readonly journal: Journal,
    config: EngineConfig,
    rng: Rng,
    /** Its own instance, whose settlements need no inbox. */
    readonly instanceId: string | undefined,
    private readonly time: { readonly monotonicUs: number; readonly clockUs: number },
  ) {
    this.engine = new Engine(config, rng, CHECKPOINT);
    this.received = journal.consumed;
    this.#opened = journal.consumed - journal.instances.size;
    this.#aheadUs = time.clockUs - time.monotonicUs;
    this.engine.open(journal.load(), this.nowUs);
    for (const [id, announced] of journal.instances)
      this.#feed({ kind: 'entry', entry: { kind: 'instance', id, ...announced } });
  }

  get nowUs(): number {
    return this.time.monotonicUs + this.#aheadUs;
  }

  #feed(input: Input): Step {
    const { engine, nowUs } = this;
    const { changes } = engine.state;
    const from = changes.length;
    if (input.kind === 'entry') engine.receive([input.entry], nowUs);
    else if (input.kind === 'settle') engine.settle(input.instanceId, input.settlement, nowUs);
    else if (input.kind === 'buried') engine.buried(input.instanceIds, nowUs);
    const step = { input, changes: changes.slice(from), nowUs };
    this.steps.push(step);
    return step;
  }

  /** Takes in at most so many entries of the inbox. */
  receive(most: number): void {
    const { inbox } = this.journal;
    const end = Math.min(inbox.length, this.received + most);
    while (this.received < end && !this.#waiting) {
      const entry = inbox[this.received++] as InboxEntry;
      if (isFound(this.engine.state, entry)) this.#feed({ kind: 'entry', entry });
      else {
        // It waits for a chunk, and all later ones with it.
        this.engine.receive([entry], this.nowUs);
        this.#waiting = entry;
      }
    }
  }

  /** Notes what an entry causes whose chunk has come, or does not matter any more. */
  #takeWaiting(): void {
    const entry = this.#waiting;
    if (!entry || !isFound(this.engine.state, entry)) return;
    this.#waiting = undefined;
    const { changes } = this.engine.state;
    const from = changes.length;
    this.engine.receive([], this.nowUs);
    this.steps.push({ input: { kind: 'entry', entry }, changes: changes.slice(from), nowUs: this.nowUs });
  }

  settle(settlement: Settlement): void {
    const instanceId = this.instanceId as string;
    this.#feed({ kind: 'settle', instanceId, settlement });
  }

  bury(instanceIds: readonly string[]): void {
    this.#buried.push(...instanceIds);
    this.#feed({ kind: 'buried', instanceIds });
  }

  /** Sends the next commit. Returns whether there was one to send. */
  send(): boolean {
    this.#takeWaiting();
    const { engine, nowUs } = this;
    const { state } = engine;
    const { changes } = state;
    const from = changes.length;
    const before = backloggedIn(state);
    const readyBefore = state.readyJobs;
    const commit = engine.commit(nowUs);
    if (!commit) return false;
    const input = { kind: 'commit', backlog: { before, after: backloggedIn(state) }, readyBefore } as const;
    const steps = [...this.steps, { input, changes: changes.slice(from), nowUs }];
    this.sent = { commit, steps, consumed: this.#opened + commit.consumed, buried: this.#buried };
    this.steps = [];
    this.#buried = [];
    return true;
  }

  /** The commit reaches the journal. */
  store(): Committed {
    const { commit, steps, consumed, buried } = this.sent as Sent;
    this.journal.store(commit, consumed, buried);
    return { commit, steps };
  }

  /** The journal answers: with its time and the chunks that were wanted. */
  answer(): void {
    const { commit } = this.sent as Sent;
    this.sent = undefined;
    this.#aheadUs = Math.max(this.#aheadUs, this.time.clockUs - this.time.monotonicUs);
    const { changes } = this.engine.state;
    const from = changes.length;
    this.engine.loaded(this.journal.read(commit.wants), this.nowUs);
    const entry = this.#waiting;
    // The last job of a chunk takes the chunk with it.
    const isEffect = changes.slice(from).some(({ kind }) => kind === 'ended' || kind === 'requeued');
    const isTaken = entry && (isEffect || isFound(this.engine.state, entry));
    if (isTaken) this.#waiting = undefined;
    const input: Input = isTaken ? { kind: 'entry', entry } : { kind: 'loaded' };
    this.steps.push({ input, changes: changes.slice(from), nowUs: this.nowUs });
  }

  isBurying(instanceId: string): boolean {
    return [...this.#buried, ...(this.sent?.buried ?? [])].includes(instanceId);
  }

  /** Nothing that happened since the last commit changed anything: instances without a job are buried all the same. */
  settleDown(): void {
    this.journal.bury(this.#buried);
    this.#buried = [];
  }
}
