import type { Rng } from '@millrace/foundation';
import { Engine } from '../../../src/next/engine/engine.js';
import { ByteWriter } from '../../../src/next/engine/format/bytes.js';
import { packRecord } from '../../../src/next/engine/format/record.js';
import type { EngineConfig } from '../../../src/next/engine/state/config.js';
import { addressOf, queueOf } from '../../../src/next/engine/state/position.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import { Scope } from '../../../src/next/engine/state/scope.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';
import { hasEnded } from '../../../src/states.js';
import type { Journal } from './journal.js';
import { isRunnable } from './judge-starts.js';
import type { Violations } from './trace.js';
import { nameOf, type Truth, type TruthGroup, type TruthJob } from './truth.js';

/** Judges an engine as it is: against the truth, and against the engine that a new owner would have. */
export class EngineJudge {
  constructor(
    private readonly truth: Truth,
    private readonly journal: Journal,
    private readonly config: EngineConfig,
    private readonly violations: Violations,
  ) {}

  /** I8: a new owner's engine equals the one that was. @param image - of that one. */
  rebuild(image: ReadonlyMap<string, string>, nowUs: number, rng: Rng): void {
    const other = new Engine(this.config, rng);
    other.open(this.journal.load(), nowUs);
    const rebuilt = imageOf(other.state);
    const differing = [...new Set([...image.keys(), ...rebuilt.keys()])].filter(
      (key) => image.get(key) !== rebuilt.get(key),
    );
    this.violations.check(differing.length === 0, 'I8', () => `a rebuilt engine differs in ${differing}`);
  }

  /** I8, I14: each job is in one place, and every counter is the number of what it counts. Nothing may be undecided. */
  conserves(state: EngineState): void {
    const held = new Map<unknown, number>();
    const hold = (...scopes: readonly unknown[]) => {
      for (const scope of scopes) held.set(scope, (held.get(scope) ?? 0) + 1);
    };
    for (const group of this.truth.groups.values()) {
      const known = state.groups.get(group.id);
      if (known) this.#group(group, known, hold);
    }
    for (const instance of state.instances.values()) {
      const busy = instance.slots - instance.free;
      this.#check(
        instance.jobs.size === busy,
        `${instance.id} has ${instance.jobs.size} jobs in ${busy} slots`,
      );
      for (const job of instance.jobs)
        if (job.group.inFlight.get(job.position) !== job) hold(job.group, job.group.tenant, SHARD);
    }
    for (const scope of [state.shard, ...state.tenants.values(), ...state.groups.values()]) {
      const real = held.get(scope.number === 0 ? SHARD : scope) ?? 0;
      this.#check(scope.held === real, `${scope.number} holds ${scope.held} jobs, not ${real}`);
    }
  }

  #check(holds: boolean, message: string): void {
    this.violations.check(holds, 'I8', () => message);
  }

  #group(group: TruthGroup, known: Group, hold: (...scopes: readonly unknown[]) => void): void {
    const { success, failed, cancelled, registered } = known;
    const { COMPLETED, FAILED, CANCELLED } = group.ends;
    const counted = `${registered}: ${success} ${failed} ${cancelled}`;
    const real = `${group.registered}: ${COMPLETED} ${FAILED} ${CANCELLED}`;
    this.violations.check(counted === real, 'I14', () => `${group.id} counts ${counted}, and it is ${real}`);
    for (const job of group.jobs.values()) {
      const places = placesOf(known, job).join(' and ') || 'nowhere';
      const [expected] = EXPECTED[job.place];
      const fits = EXPECTED[job.place].includes(places) || (job.place === 'QUEUED' && hasEnded(known.status));
      this.#check(fits, `${nameOf(job)} is ${places}, not ${expected}`);
      if (job.place === 'IN_FLIGHT' || places === 'ready') hold(known, known.tenant, SHARD);
    }
  }

  /** No worker waits while a job may run. The engine has just found nothing to do. */
  isBusy(state: EngineState): void {
    if (state.slots.free === 0) return;
    // What a service allows is learnt, and no limit that the truth knows.
    if (state.slowed.size > 0) return;
    for (const resource of state.resources.values())
      if (resource.learnt || resource.frozenUntilMs > state.nowMs) return;
    for (const group of this.truth.groups.values())
      this.violations.check(
        !isRunnable(this.truth, group, state.nowMs) || isAborting(state, group),
        'IDLE',
        () => `${state.slots.free} slots are free, and ${group.id} waits`,
      );
  }

  /** I9: after the end nothing is left of what has ended. */
  isClean(state: EngineState): void {
    const left = (name: string, count: number) =>
      this.violations.check(count === 0, 'I9', () => `${count} ${name} are left`);
    for (const group of state.groups.values()) {
      // What is left of a round that was cut goes with the group.
      if (this.truth.groups.get(group.id)?.wasCut) continue;
      const { inFlight, front, delayed, outcomes, skipped, ready, chunks, queues } = group;
      left(`jobs of ${group.id}`, inFlight.size + front.length + delayed.size + skipped.size + ready.length);
      left(`outcomes of ${group.id}`, outcomes.size);
      const loaded = queues.reduce((sum, queue) => sum + (queue?.loaded.length ?? 0), 0);
      left(`loaded chunks of ${group.id}`, chunks.size + loaded);
      left(`chunks of ${group.id}`, this.journal.chunksOf(group.id).size);
    }
    left('ready jobs', state.readyJobs);
    left('delayed jobs', state.delayed.size);
    left('wants', state.wants.length);
    left(
      'costs of ready jobs',
      [...state.byNumber.values()].filter((scope) => scope instanceof Scope && scope.readyCost !== 0).length,
    );
    left('deliveries', [...this.journal.deliveries.values()].flat().length);
    left('notes that no record needs', Math.max(0, this.journal.notes - NOTES_MAX));
  }
}

/** Key of what the shard holds. */
const SHARD = 'shard';

/** Twice the age at which records are written, and the commits that have written nothing yet. */
const NOTES_MAX = 40;

/** Where an engine may have a job of each place. */
const EXPECTED: Readonly<Record<TruthJob['place'], readonly string[]>> = {
  SUBMITTED: ['queued'],
  QUEUED: ['queued', 'ready'],
  FRONT: ['front', 'ready'],
  IN_FLIGHT: ['in flight'],
  DELAYED: ['delayed'],
  ENDED: ['nowhere'],
};

function placesOf(group: Group, job: TruthJob): string[] {
  const { position } = job;
  const has = ({ position: other }: { position: number }) => other === position;
  const queue = group.queues[queueOf(position)];
  const flying = group.inFlight.get(position);
  const waits = !queue || position >= queue.cursor || queue.late.includes(addressOf(position));
  return [
    flying && flying.attempt === job.attempt && flying.instanceId === job.instanceId && 'in flight',
    group.delayed.get(position)?.dueMs === job.delayedUntilMs && 'delayed',
    group.front.some(has) && 'front',
    group.ready.some(has) && 'ready',
    waits && !group.skipped.has(position) && 'queued',
  ].filter((place) => typeof place === 'string');
}

/** Reports whether an ordered group waits for the attempt of a job that was cancelled. */
const isAborting = ({ groups }: EngineState, { id, settings, inFlight }: TruthGroup): boolean =>
  settings.isOrdered && (groups.get(id)?.held ?? 0) > inFlight.size;

/** Everything durable, as it would be stored. */
export function imageOf(state: EngineState): Map<string, string> {
  const out = new ByteWriter();
  return new Map(
    [...state.byNumber.values()].map((record) => {
      const { key, bytes } = packRecord(out, state, record, 0);
      return [key, Buffer.from(bytes).toString('latin1')];
    }),
  );
}
