import { type Rng, seededRng } from '@millrace/foundation';
import type { Delivery } from '../../../src/next/engine/engine.js';
import type { Settlement } from '../../../src/next/engine/run/settle.js';
import { type EngineConfig, resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import { hasEnded } from '../../../src/states.js';
import { Journal } from './journal.js';
import { EngineJudge, imageOf } from './judge-engine.js';
import { FairnessJudge } from './judge-fairness.js';
import { JobJudge, told } from './judge-jobs.js';
import { StartJudge } from './judge-starts.js';
import { Owner } from './owner.js';
import { type Committed, type Tally, Violations } from './trace.js';
import { Truth, type TruthGroup } from './truth.js';

/** A process that runs jobs. */
export interface Instance {
  readonly id: string;
  slots: number;
  readonly types: readonly string[];
  /** SILENT: it runs on, but neither beats nor takes anything. GONE: its process has died. */
  state: 'LIVE' | 'SILENT' | 'GONE';
  running: Delivery[];
  /** Settlements that may not be durable yet. Sent again when the owner is replaced. */
  unanswered: Settlement[];
}

export interface WorldOptions {
  /** Rebuilds the engine at every commit. */
  readonly isThorough: boolean;
  readonly isVerbose: boolean;
  readonly tally: Tally;
}

/** Commits at which the engine of a seed is rebuilt, if not at every one. */
const REBUILDS = 5;
const COMMITS_GUESSED = 120;

/** Everything around the engine: callers, instances, owners that die, and a clock that jumps. Drawn by a seed. */
export class World {
  readonly rng: Rng;
  readonly config: EngineConfig;
  readonly journal = new Journal();
  readonly truth = new Truth();
  readonly violations = new Violations();
  readonly instances = new Map<string, Instance>();
  /** Settlements that were sent at any time, to be sent again. */
  readonly sent: { readonly instanceId: string; readonly settlement: Settlement }[] = [];
  readonly lines: string[] = [];
  owner: Owner | undefined;
  monotonicUs = 0;
  clockUs = 1_000_000_000_000;
  /** Jobs that callers may still submit. */
  jobsLeft: number;
  readonly #judges: readonly [JobJudge, FairnessJudge];
  readonly #engineJudge: EngineJudge;
  readonly #rebuildAt: ReadonlySet<number>;
  #owners = 0;
  /** Everything durable as of the commit that was sent, if the engine is to be rebuilt from it. */
  #image: ReadonlyMap<string, string> | undefined;
  #step = 0;

  constructor(
    readonly seed: number,
    readonly options: WorldOptions,
  ) {
    this.rng = seededRng(seed);
    const { rng, truth, violations } = this;
    this.jobsLeft = rng.pick([20, 100, 100, 300]);
    const globalRps = rng.chance(0.2) ? rng.integer(20, 100) : 0;
    this.config = resolveEngineConfig({
      backpressure: { globalRps },
      resources: { service: { rps: rng.pick([30, 100]), concurrency: rng.integer(1, 4) } },
    });
    truth.shard.rps = globalRps || undefined;
    const { rps, concurrency } = this.config.resources.service ?? {};
    Object.assign(truth.resource('service'), { rps, concurrency });
    const starts = new StartJudge(truth, violations);
    this.#judges = [
      new JobJudge(truth, this.config, starts, violations),
      new FairnessJudge(truth, violations),
    ];
    this.#engineJudge = new EngineJudge(truth, this.journal, this.config, violations);
    this.#rebuildAt = new Set(Array.from({ length: REBUILDS }, () => rng.integer(1, COMMITS_GUESSED)));
  }

  /** Writes a line of the log. */
  say(text: () => string): void {
    if (this.options.isVerbose) this.lines.push(`${this.#step} ${text()}`);
  }

  /** Runs one step of a name. */
  act(name: string, run: () => void): void {
    this.#step += 1;
    this.violations.at = `step ${this.#step}, ${name}`;
    this.options.tally.meet(name);
    this.say(() => name);
    run();
  }

  /** Time passes, for the clocks of all processes and of the journal. */
  pass(us: number): void {
    this.monotonicUs += us;
    this.clockUs += us;
  }

  /** The clock of the journal jumps. Monotonic clocks do not. */
  jump(seconds: number): void {
    this.clockUs += seconds * 1_000_000;
  }

  /** An owner opens the shard: it reads the inbox to its end before it orphans what dead instances ran. */
  takeOver(): void {
    const live = [...this.instances.values()].filter(({ state }) => state === 'LIVE');
    const own = live.length > 0 && this.rng.chance(0.7) ? this.rng.pick(live).id : undefined;
    this.#owners += 1;
    this.owner = new Owner(this.journal, this.config, this.rng.fork(`owner ${this.#owners}`), own, this);
    this.#judges[1].reopened();
    this.#engineJudge.conserves(this.owner.engine.state);
    for (const { id, state, unanswered } of this.instances.values())
      if (state !== 'GONE') for (const settlement of unanswered.splice(0)) this.#sendInbox(id, settlement);
    this.owner.receive(Infinity);
    const dead = [...this.journal.instances.keys()].filter((id) => this.instances.get(id)?.state === 'GONE');
    if (dead.length > 0) this.owner.bury(dead);
    for (const instance of this.instances.values()) if (instance.state === 'LIVE') this.stopLost(instance);
  }

  /** The greeting: an instance stops what the owner does not count as running there. */
  stopLost(instance: Instance): void {
    const groups = this.owner?.engine.state.groups;
    instance.running = instance.running.filter(({ groupId, position, attempt }) => {
      const job = groups?.get(groupId)?.inFlight.get(position);
      return job?.attempt === attempt && job.instanceId === instance.id;
    });
  }

  /** The owner is no more. @param withInstance - its process has died, with the instance in it. */
  loseOwner(withInstance: boolean): void {
    const own = this.owner?.instanceId;
    this.owner = undefined;
    if (own === undefined) return;
    const instance = this.instances.get(own) as Instance;
    if (withInstance) instance.state = 'GONE';
  }

  /** Sends a settlement to the owner, by the inbox or directly. */
  settle(instance: Instance, settlement: Settlement): void {
    this.sent.push({ instanceId: instance.id, settlement });
    if (this.owner?.instanceId !== instance.id) this.#sendInbox(instance.id, settlement);
    else {
      instance.unanswered.push(settlement);
      this.owner.settle(settlement);
    }
  }

  #sendInbox(instanceId: string, settlement: Settlement): void {
    this.say(() => `${instanceId} settles ${told(settlement)}`);
    this.journal.inbox.push({ kind: 'settled', instanceId, settlements: [settlement] });
  }

  /** The owner sends a commit if it has to. Returns whether it did. */
  send(): boolean {
    const { owner } = this;
    if (!owner || owner.sent) return false;
    if (owner.send()) {
      const { seq } = owner.engine.state;
      const isRebuilt = this.options.isThorough || this.#rebuildAt.has(seq);
      this.#image = isRebuilt ? imageOf(owner.engine.state) : undefined;
      return true;
    }
    owner.settleDown();
    if (owner.steps.every(({ changes }) => changes.length === 0)) {
      for (const step of owner.steps) for (const judge of this.#judges) judge.judge(step);
      owner.steps = [];
    }
    this.#engineJudge.isBusy(owner.engine.state);
    return false;
  }

  /** The commit reaches the journal: it is judged. */
  store(): void {
    const owner = this.owner as Owner;
    this.#judge(owner.store());
    if (this.#image) this.#engineJudge.rebuild(this.#image, owner.nowUs, this.rng.fork('rebuilt'));
    if (this.#image && owner.steps.length === 0) this.#engineJudge.conserves(owner.engine.state);
  }

  /** The journal answers, and the deliveries to the owner's own instance may run. */
  answer(): void {
    const owner = this.owner as Owner;
    owner.answer();
    const own = this.instances.get(owner.instanceId ?? '');
    if (own && owner.steps.every(({ input }) => input.kind !== 'settle')) own.unanswered = [];
  }

  #judge({ steps, commit }: Committed): void {
    for (const step of steps) {
      this.say(
        () =>
          `  ${step.input.kind === 'commit' ? `commit ${commit.seq}` : told(step.input)} ▸ ${step.changes.map(told).join(' ')}`,
      );
      for (const judge of this.#judges) judge.judge(step);
    }
    for (const group of this.truth.groups.values()) this.#identify(group);
  }

  /** The journal learns from a commit that a group has ended. */
  #identify({ id, settings, status }: TruthGroup): void {
    const identity = this.journal.identities.get(id);
    if (identity && hasEnded(status)) identity.hasEnded = settings.isSealable || status !== 'COMPLETED';
  }

  /** I1, I9, I10: everything has ended, and nothing is left of it. */
  judgeEnd(): void {
    const { truth, violations } = this;
    const open = [...truth.jobs()].filter(({ place }) => place !== 'ENDED').slice(0, 3);
    const told3 = () =>
      open.map(({ group, position, place }) => `${group.id}#${position % 2 ** 46} ${place}`).join(', ');
    violations.check(open.length === 0, 'I10', () => `${truth.open} jobs have not ended: ${told3()}`);
    violations.check(truth.openGroups === 0, 'I10', () => `${truth.openGroups} groups have not ended`);
    if (open.length > 0 || !this.owner) return;
    this.#engineJudge.conserves(this.owner.engine.state);
    this.#engineJudge.isClean(this.owner.engine.state);
  }
}
