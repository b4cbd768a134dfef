import type { Rng } from '@millrace/foundation';
import type { AggregationClaim } from '../../src/aggregation.js';
import type { RecoverAnswer, SettleAnswer } from '../../src/lease.js';
import type { AddAnswer, FetchAnswer, LookAnswer } from '../../src/ports.js';
import type { ClaimName, Command, LeaseName, NamedSettlement } from './commands.js';
import { SIGNATURES } from './world.js';

/** Whose dead letter there may be. */
interface DeadName extends Pick<LeaseName, 'key' | 'jobId'> {
  readonly signature: string;
}

/** Later answers are worth as much as earlier ones, and the list stays short. */
const KEPT = 50;
/** After these a fetch may find something. */
const STIRRING: ReadonlySet<Command['kind']> = new Set([
  ...(['add', 'advance', 'dispatch', 'settle', 'giveBack', 'giveBackAll'] as const),
  ...(['redrive', 'resume', 'update', 'updateTenant', 'heartbeat'] as const),
]);

/**
 * What the answers so far have told, in names that mean the same to every store: later commands ask for leases that
 * stand, for leases that were settled, for times that were announced.
 */
export class Memories {
  /** Leases that were given and not ended by us. */
  readonly held: LeaseName[] = [];
  /** Leases that we have ended, or that others hold now. */
  readonly past: LeaseName[] = [];
  readonly settled: NamedSettlement[] = [];
  /** Waiting times that answers have named. */
  readonly waits: number[] = [];
  /** The last request of each instance. */
  readonly seqs = new Map<string, number>();
  readonly registered = new Map<string, number>();
  /** Jobs that were registered. */
  readonly jobs: Pick<LeaseName, 'key' | 'jobId'>[] = [];
  /** What was reported as dead. */
  readonly dead: DeadName[] = [];
  /** Groups that were to be added up, and who was told to. */
  readonly aggregating: string[] = [];
  readonly claims: ClaimName[] = [];
  /** What keeps an aggregation from coming to anything: claim it, fail, wait until it may be claimed again. */
  spite: 'claim' | 'fail' | 'rest' = 'claim';
  /** Groups whose aggregation has failed for good. */
  readonly notAddedUp: string[] = [];
  /** Groups whose results were added up. */
  readonly addedUp: string[] = [];
  /** Groups that took no more. */
  readonly closed = new Set<string>();
  /** What lies in ready, as far as is known: asking for jobs is not worth much while there are none. */
  ready = 0;
  /** Nothing has changed since a fetch has found nothing. */
  nothingToFetch = false;
  elapsedMs = 0;
  listOpen = false;

  /** Learns from a command and its answer. */
  hear(command: Command, answer: unknown): void {
    if (STIRRING.has(command.kind)) this.nothingToFetch = false;
    switch (command.kind) {
      case 'advance':
        this.elapsedMs += command.ms;
        if (this.spite === 'rest') this.spite = 'claim';
        break;
      case 'first page':
        this.listOpen = true;
        break;
      case 'other pages':
        this.listOpen = false;
        break;
      case 'fetch':
        this.#fetched(answer as FetchAnswer);
        break;
      case 'dispatch':
        this.ready += (answer as { readonly ready: number }).ready;
        break;
      case 'reserve':
        this.#reserved(command, (answer as { readonly jobs: readonly LeaseName[] }).jobs);
        break;
      case 'leave':
        this.seqs.delete(command.instanceId);
        break;
      case 'settle':
        for (const [at, one] of command.settlements.entries()) {
          this.#ended(one);
          this.#heardOf(one.key, (answer as readonly SettleAnswer[])[at]?.groupStatus);
          keep(this.settled, one);
          const { key, jobId, outcome } = one;
          if (outcome.kind === 'failure' && outcome.dead)
            keep(this.dead, { key, jobId, signature: outcome.signature });
        }
        break;
      case 'giveBack':
        for (const lease of command.leases) this.#ended(lease);
        break;
      case 'recover':
        for (const one of (answer as RecoverAnswer).dead)
          keep(this.dead, { ...one, signature: SIGNATURES[2] });
        break;
      case 'add':
        this.#added(command, answer as AddAnswer);
        break;
      case 'cancel':
        this.closed.add(command.key);
        break;
      case 'seal':
        this.#heardOf(command.key, (answer as { readonly status?: string }).status);
        break;
      case 'finishAggregation':
        if (answer === 'done') keep(this.addedUp, command.key);
        break;
      case 'failAggregation':
        this.spite = 'rest';
        if (answer === 'failed') keep(this.notAddedUp, command.key);
        break;
      case 'claim':
      case 'claimGroup':
        this.#claimed(command.token, answer as AggregationClaim | undefined);
        break;
      case 'watch':
        for (const { key } of (answer as LookAnswer).timedOut) this.closed.add(key);
        break;
      default:
        break;
    }
    const { nextInMs, retryInMs } = (answer ?? {}) as { nextInMs?: number; retryInMs?: number };
    const wait = nextInMs ?? retryInMs;
    if (wait !== undefined && wait > 0) keep(this.waits, wait);
  }

  #heardOf(key: string, status: string | undefined): void {
    if (status === 'COMPLETED' || status === 'AGGREGATING') this.closed.add(key);
    if (status === 'AGGREGATING') keep(this.aggregating, key);
  }

  #claimed(token: string, claim: AggregationClaim | undefined): void {
    if (!claim?.aggregation) return;
    const { key, round } = claim.aggregation;
    keep(this.claims, { key, round, token });
    this.spite = 'fail';
  }

  #fetched({ ready, room }: FetchAnswer): void {
    this.nothingToFetch = ready === 0;
    this.ready = room ? this.ready + ready : Math.max(1, this.ready + ready);
  }

  #added({ definition, jobs }: Extract<Command, { kind: 'add' }>, answer: AddAnswer): void {
    const { key } = definition;
    if (answer.kind === 'sealed') this.closed.add(key);
    if (answer.kind !== 'added') return;
    this.closed.delete(key);
    this.registered.set(key, answer.registered);
    for (const { id } of jobs) keep(this.jobs, { key, jobId: id });
  }

  #reserved(request: Extract<Command, { kind: 'reserve' }>, jobs: readonly LeaseName[]): void {
    const { instanceId, seq, max } = request;
    this.seqs.set(instanceId, Math.max(seq, this.seqs.get(instanceId) ?? 0));
    for (const { key, jobId, nth } of jobs) this.#given({ key, jobId, nth });
    this.ready = jobs.length < max ? 0 : Math.max(0, this.ready - jobs.length);
  }

  #given(lease: LeaseName): void {
    const at = indexOf(this.held, lease);
    if (at < 0 && indexOf(this.past, lease) < 0) keep(this.held, lease);
  }

  #ended({ key, jobId, nth }: LeaseName): void {
    const at = indexOf(this.held, { key, jobId, nth });
    if (at < 0) return;
    this.held.splice(at, 1);
    keep(this.past, { key, jobId, nth });
  }

  /** One that was told, the newest most often. */
  recent<T>(rng: Rng, list: readonly T[]): T | undefined {
    if (list.length === 0) return undefined;
    return rng.chance(0.5) ? list[list.length - 1] : rng.pick(list);
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > KEPT) list.shift();
}

const indexOf = (leases: readonly LeaseName[], { key, jobId, nth }: LeaseName): number =>
  leases.findIndex((lease) => lease.key === key && lease.jobId === jobId && lease.nth === nth);
