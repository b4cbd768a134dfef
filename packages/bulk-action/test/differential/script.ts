import type { Rng } from '@millrace/foundation';
import { type Outcome } from '../../src/lease.js';
import type { GroupPatch } from '../../src/model.js';
import {
  type DeadLetterFilter,
  type GroupDefinition,
  INSTANCE_TTL_MS,
  type NewJob,
} from '../../src/ports.js';
import { JobStatus, NonReadyReason, PriorityLevel } from '../../src/states.js';
import { numbers } from '../store-contract/tools.js';
import { drawAggregation, drawSpite, drawSuccess, isAggregation } from './aggregation-script.js';
import type { Command, LeaseName, ListCommand, NamedSettlement } from './commands.js';
import { drawHome } from './home-script.js';
import { Memories } from './memories.js';
import { Mood } from './mood.js';
import {
  drawGroupFilter,
  drawLimits,
  drawPlainJob,
  drawThrottle,
  NOBODY,
  NOWHERE,
  PAYLOADS,
  PROCESSOR_TYPES,
  refusedOf,
  SIGNATURES,
  type World,
} from './world.js';

const CODES = ['BROKEN', 'GONE', 'RATE_LIMITED', 'é'];
const MESSAGES = ['never again', 'address "x"', 'grün\n€ 😀', ''];
/** Fractions as real measurements have them; bounds of the histogram's buckets among them. */
const DURATIONS = [-1, 0, 1, 1.5, 10, 12.345, 33.333333333333336, 250, 5000, 10_000_000];
const DELAYS = [0, 1, 20, 500, 3000, 60_000];
const STEPS_MS = [0.25, 1, 5, 40, 100, 250, 900];
const LEAPS_MS = [1000, 2100, INSTANCE_TTL_MS, INSTANCE_TTL_MS - 1, 60_000, 610_000];

/** Writes the commands of one sequence: each is drawn knowing the answers to those before it. */
export class Script {
  readonly memories = new Memories();
  readonly #mood: Mood;
  /** Whether results are added up in this sequence. */
  readonly #aggregates: boolean;
  /** Draws by itself: the rest of a sequence goes on as if it had not. */
  readonly #homes: Rng;
  #fresh = 0;

  constructor(
    readonly rng: Rng,
    readonly world: World,
  ) {
    this.#homes = rng.fork('homes');
    this.#mood = new Mood(rng, world.isPlain);
    this.#aggregates = this.#mood.isSpiteful || rng.chance(0.4);
  }

  /** The next command. */
  next(): Command {
    if (this.#homes.chance(0.04)) return drawHome(this.#homes, this.world.keys);
    const spite =
      this.#mood.isSpiteful && this.rng.chance(0.4) ? drawSpite(this.rng, this.memories) : undefined;
    if (spite) return spite;
    const kind = this.#mood.draw(this.rng);
    return this.#draw(this.rng.chance(0.85) ? this.#worthwhile(kind) : kind);
  }

  /** The kind, or what has to come before it: else most sequences would talk about nothing. */
  #worthwhile(kind: Command['kind']): Command['kind'] {
    const { held, dead, ready, jobs, nothingToFetch } = this.memories;
    if (jobs.length < 3) return 'add';
    const needsLease = kind === 'settle' || kind === 'renew' || kind === 'giveBack';
    if (needsLease && held.length === 0) return this.#worthwhile('reserve');
    if (kind === 'reserve' && ready === 0 && !this.world.isPlain && this.rng.chance(0.5))
      return this.#worthwhile('fetch');
    if (kind === 'fetch' && nothingToFetch)
      return this.rng.pick(['add', 'dispatch', 'advance', 'advance', 'recover']);
    if (isAggregation(kind) && (!this.#aggregates || this.memories.aggregating.length === 0))
      return this.#worthwhile(this.rng.pick(['settle', 'seal']));
    if ((kind === 'redrive' || kind === 'purge') && dead.length === 0) return this.#worthwhile('settle');
    return kind;
  }

  #draw(kind: Command['kind']): Command {
    const { rng } = this;
    switch (kind) {
      case 'create':
        return { kind, definition: this.#definition() };
      case 'add':
        return this.#add();
      case 'seal':
        return this.#seal();
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'forgetSlowness':
      case 'group':
        return { kind, key: this.#key() };
      case 'slowness':
        return { kind, key: this.#mood.isPicky ? rng.pick(refusedOf(this.world)) : this.#key() };
      case 'update':
        return {
          kind,
          key: this.#key(),
          patch: this.#groupPatch(),
          ...(rng.chance(0.3) && { asDate: true }),
        };
      case 'updateTenant':
        return { kind, tenantId: this.#tenantId(), patch: drawLimits(rng) };
      case 'fetch':
      case 'dispatch':
        return { kind, max: this.#many(6) };
      case 'watch':
      case 'reconcile':
        return { kind, max: rng.pick([1, 3, 100]) };
      case 'sweep':
        return { kind, max: rng.pick([1, 3, 1000]) };
      case 'admit':
      case 'job':
      case 'explain':
        return { kind, ...this.#job() };
      case 'checkRate':
        return { kind, key: this.#key(), cost: rng.integer(1, 6) };
      case 'result':
        return { kind, key: this.#endedKey(), ...(rng.chance(0.5) && { round: rng.integer(1, 2) }) };
      case 'tenant':
        return { kind, tenantId: rng.chance(0.05) ? NOBODY : this.#tenantId() };
      case 'fairness':
        return { kind, limit: rng.pick([1, 100]) };
      case 'advance':
        return { kind, ms: this.#step() };
      case 'groups':
      case 'jobs':
      case 'dead letters':
        return this.#list(kind);
      case 'first page':
        return { kind, list: this.#list(rng.pick(['groups', 'jobs', 'dead letters'] as const)) };
      case 'signatures':
        return { kind, filter: this.#signatureFilter(), limit: rng.pick([1, 100]) };
      case 'instances':
      case 'queues':
      case 'resources':
      case 'other pages':
        return { kind };
      case 'results':
        return { kind, key: this.#key(), limit: rng.pick([1, 3, 100]) };
      default:
        if (isAggregation(kind)) return drawAggregation(kind, rng, this.memories, this.#key());
        return this.#drawLeases(kind);
    }
  }

  #drawLeases(kind: Command['kind']): Command {
    const { rng } = this;
    const instanceId = rng.pick(this.world.instanceIds);
    switch (kind) {
      case 'reserve':
        return this.#reserve(instanceId);
      case 'renew':
      case 'giveBack':
        return { kind, leases: this.#leases() };
      case 'settle':
        return { kind, settlements: this.#leases().map((lease) => this.#settlement(lease)) };
      case 'giveBackAll':
        return { kind, instanceId, max: this.#many(4) };
      case 'recover':
        return { kind, randoms: numbers(this.#many(4)).map(() => rng.next()) };
      case 'redrive':
      case 'purge':
        return { kind, filter: this.#deadFilter(), max: rng.pick([1, 2, 100]) };
      case 'heartbeat':
        return { kind, instance: this.#heartbeat(instanceId) };
      case 'leave':
        return { kind, instanceId };
      default:
        return this.#drawOnce(kind);
    }
  }

  #drawOnce(kind: Command['kind']): Command {
    const { rng } = this;
    const [key, token] = [rng.pick(['k1', 'k2']), rng.pick(['t1', 't2'])];
    const ms = rng.pick([10, 1000, 20_000]);
    if (kind === 'begin' || kind === 'renewOnce') return { kind, key, token, ms };
    if (kind === 'finish') return { kind, key, token, result: rng.pick(PAYLOADS), ms };
    return { kind: 'release', key, token };
  }

  #key(): string {
    const { rng, memories, world } = this;
    if (rng.chance(0.02)) return NOWHERE;
    if (rng.chance(0.05)) return rng.pick(world.keys);
    if (rng.chance(0.3) && memories.closed.size > 0) return rng.pick([...memories.closed]);
    return this.#usual().key;
  }

  /** Now and then one whose results were added up, or could not be: there are few. */
  #endedKey(): string {
    const { memories, rng } = this;
    const ended = memories.recent(rng, rng.chance(0.5) ? memories.notAddedUp : memories.addedUp);
    return ended !== undefined && rng.chance(0.7) ? ended : this.#key();
  }

  /** One of the first groups that still take jobs: when one has ended, another comes in its place. */
  #usual(): GroupDefinition {
    const { definitions, active } = this.world;
    const open = definitions.filter(({ key }) => !this.memories.closed.has(key));
    return this.rng.pick((open.length > 0 ? open : definitions).slice(0, active));
  }

  #job(): { readonly key: string; readonly jobId: string } {
    const { rng, memories } = this;
    if (rng.chance(0.1) || memories.jobs.length === 0) return { key: this.#key(), jobId: this.#jobId() };
    return rng.pick(memories.jobs);
  }

  #tenantId(): string {
    return this.rng.pick(this.world.tenantIds);
  }

  #jobId(): string {
    return this.rng.pick(this.world.jobIds);
  }

  /** The usual one, now and then another with the same key. */
  #definition(): GroupDefinition {
    const definition = this.rng.chance(0.2) ? this.rng.pick(this.world.definitions) : this.#usual();
    if (this.rng.chance(0.8)) return definition;
    return { ...definition, weight: definition.weight + 1 };
  }

  #add(): Command {
    const { rng } = this;
    const jobs = this.#isMass() ? this.#mass() : this.#newJobs();
    const later = rng.chance(0.2) ? rng.integer(1, 6) : 0;
    return { kind: 'add', definition: this.#definition(), jobs, incoming: jobs.length + later };
  }

  #newJobs(): NewJob[] {
    const { rng } = this;
    return numbers(rng.chance(0.03) ? 0 : rng.integer(1, 5)).map(() => this.#newJob());
  }

  /** In a large world there are groups with more jobs than one step looks at. */
  #isMass(): boolean {
    return this.world.scale > 1 && this.rng.chance(0.1);
  }

  #mass(): NewJob[] {
    const job = this.#newJob();
    return numbers(this.rng.integer(100, 400)).map((n) => ({ ...job, id: `m${n}` }));
  }

  /** How many at most; large numbers in large worlds. */
  #many(max: number): number {
    const { rng, world } = this;
    return rng.integer(1, max) * (rng.chance(0.5) ? world.scale : 1);
  }

  #newJob(): NewJob {
    const { rng, memories } = this;
    const plainId = () => (rng.chance(0.75) ? `${this.#jobId()}${this.#fresh++}` : this.#jobId());
    if (this.#plainly(0.97)) return drawPlainJob(rng, plainId());
    const soon = () => Math.floor(memories.elapsedMs) + rng.pick([-10, 1, 300, 2000, 60_000]);
    return {
      id: rng.chance(0.5) ? `${this.#jobId()}${this.#fresh++}` : this.#jobId(),
      processorType: rng.pick(PROCESSOR_TYPES),
      payload: rng.pick(PAYLOADS),
      cost: rng.pick([1, 1, 1, 2, 5]),
      ...(rng.chance(0.3) && { charge: rng.pick([0.1, 1, 7]) }),
      ...(rng.chance(0.15) && { notBefore: soon() }),
      ...(rng.chance(0.15) && { deadline: soon() }),
      ...(rng.chance(0.1) && { traceparent: '00-11111111111111111111111111111111-2222222222222222-00' }),
    };
  }

  /** Mostly, in a plain world. */
  #plainly = (probability: number): boolean => this.world.isPlain && this.rng.chance(probability);

  #seal(): Command {
    const { rng } = this;
    const key = this.#key();
    const known = this.memories.registered.get(key) ?? 0;
    const total = rng.pick([undefined, undefined, known, known, known + 1]);
    return { kind: 'seal', key, ...(total !== undefined && { total }) };
  }

  #groupPatch(): GroupPatch {
    const { rng, memories } = this;
    const deadline = rng.pick([null, null, Math.floor(memories.elapsedMs) + rng.pick(DELAYS)]);
    return {
      ...drawLimits(rng),
      ...(rng.chance(0.3) && { priorityLevel: rng.pick(Object.values(PriorityLevel)) }),
      ...(rng.chance(0.1) && { timeoutMs: rng.pick([1000, 60_000]) }),
      ...(rng.chance(0.2) && { deadline }),
    };
  }

  /** Some that stand, and now and then one that does not. */
  #leases(): readonly LeaseName[] {
    const { rng, memories } = this;
    const some = rng.shuffle(memories.held).slice(0, this.#many(4));
    if (some.length > 0 && rng.chance(0.75)) return some;
    const odd = memories.recent(rng, rng.pick([memories.past, memories.past, memories.held]));
    return rng.shuffle([...some, odd && rng.chance(0.8) ? odd : { ...this.#job(), nth: 0 }]);
  }

  #settlement(lease: LeaseName): NamedSettlement {
    const { rng, memories } = this;
    const earlier = memories.recent(rng, memories.settled);
    if (earlier && rng.chance(0.1)) return earlier;
    return { ...lease, durationMs: rng.pick(DURATIONS), outcome: this.#outcome(lease) };
  }

  #outcome({ key }: LeaseName): Outcome {
    const { rng } = this;
    const { isGrim, isStubborn, isPicky } = this.#mood;
    if (this.#plainly(0.93)) return { kind: 'success' };
    const error = { code: rng.pick(CODES), message: rng.pick(MESSAGES) };
    const reason = rng.pick(Object.values(NonReadyReason));
    const isRefused = isPicky ? refusedOf(this.world).includes(key) : reason === 'API_THROTTLED';
    const throttled = isRefused && rng.chance(0.8) && drawThrottle(rng);
    const retry = { kind: 'retry', error, reason, spendsRetry: rng.chance(0.7), ...throttled } as const;
    if (isPicky && throttled) return { ...retry, reason: 'API_THROTTLED', delayMs: 1 };
    if (isStubborn && rng.chance(0.9)) return { ...retry, delayMs: rng.pick([0, 1, 20]) };
    if (rng.chance(0.4)) return this.#aggregates ? drawSuccess(rng) : { kind: 'success' };
    if (rng.chance(isGrim ? 0.2 : 0.5)) return { ...retry, delayMs: rng.pick(DELAYS) };
    const asks = this.#aggregates && rng.chance(0.3) && ({ aggregate: true } as const);
    return { kind: 'failure', error, dead: rng.chance(0.7), signature: rng.pick(SIGNATURES), ...asks };
  }

  #reserve(instanceId: string): Command {
    const turns = this.#plainly(0.9) || this.rng.chance(0.5) ? this.#many(5) : 0;
    return { kind: 'reserve', instanceId, seq: this.#seq(instanceId), max: this.#many(5), turns };
  }

  #seq(instanceId: string): number {
    const last = this.memories.seqs.get(instanceId) ?? 0;
    const by = this.rng.pick([1, 1, 1, 1, 1, 1, 1, 0, -1, 3]);
    return Math.max(1, last + by);
  }

  #heartbeat(id: string) {
    const { rng } = this;
    const slots = rng.pick([1, 2, 4, 10]) * this.world.scale;
    return {
      id,
      startedAt: 1_700_000_000_000 + rng.integer(0, 9),
      slots,
      waiting: rng.integer(0, slots),
      processorTypes: rng.pick([[], ['work'], ['work', 'mail']]),
      ...(rng.chance(0.5) && { resources: rng.pick([{ work: 'api' }, { work: 'api', mail: 'api' }]) }),
    };
  }

  #step(): number {
    const { rng, memories } = this;
    const { jobRetentionMs = 1000 } = this.world.config.limits ?? {};
    const { ackTimeoutMs = 1000, deadLetterRetentionMs = 1000 } = this.world.config.reliableQueue ?? {};
    const { resultRetentionMs = 1000 } = this.world.config.aggregator ?? {};
    if (this.#mood.isCareless && memories.held.length > 0 && rng.chance(0.4)) return ackTimeoutMs;
    if (rng.chance(0.4)) return rng.pick(STEPS_MS);
    const wait = memories.recent(rng, memories.waits);
    if (wait !== undefined && wait < 700_000 && rng.chance(0.6)) return rng.chance(0.2) ? wait - 1 : wait;
    if (rng.chance(0.5)) return ackTimeoutMs;
    return rng.pick([...LEAPS_MS, jobRetentionMs, deadLetterRetentionMs, resultRetentionMs]);
  }

  /** Mostly one that there is something for. */
  #deadFilter(): DeadLetterFilter {
    const { rng, memories } = this;
    const known = rng.chance(0.85) ? memories.recent(rng, memories.dead) : undefined;
    const { key, jobId, signature } = known ?? { ...this.#job(), signature: rng.pick(SIGNATURES) };
    const [tenant = ''] = key.split('/');
    return rng.pick<DeadLetterFilter>([
      {},
      { key },
      { key, jobId },
      { signature },
      { tenant },
      { tenant, signature },
      { key, signature },
    ]);
  }

  #signatureFilter(): Pick<DeadLetterFilter, 'tenant' | 'key'> {
    const { rng } = this;
    return rng.pick([{}, {}, { key: this.#key() }, { tenant: rng.pick(this.world.namespaces) }]);
  }

  #list(kind: ListCommand['kind']): ListCommand {
    const { rng } = this;
    const limit = rng.pick([1, 2, 3, 100]);
    if (kind === 'groups')
      return { kind, filter: drawGroupFilter(rng, this.world.namespaces, this.#tenantId()), limit };
    if (kind === 'dead letters') return { kind, filter: this.#deadFilter(), limit };
    const state = rng.pick([undefined, ...Object.values(JobStatus)]);
    return { kind, key: this.#key(), ...(state && { state }), limit };
  }
}
