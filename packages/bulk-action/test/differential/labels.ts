import { type AggregationClaim } from '../../src/aggregation.js';
import type { GroupSlowness, ResourceState } from '../../src/congestion-stats.js';
import { type RecoverAnswer, type SettleAnswer } from '../../src/lease.js';
import type { GroupResult, GroupView, JobView, QueuesView, TenantShare } from '../../src/model.js';
import {
  type AddAnswer,
  type Admission,
  type DispatchAnswer,
  FAILED_TRIES_KEPT,
  type FetchAnswer,
  type GroupAnswer,
  type LookAnswer,
} from '../../src/ports.js';
import type { ExplainFacts } from '../../src/rules/explain.js';
import type { GroupHome } from '../../src/shard-port.js';
import type { Command, LeaseName } from './commands.js';
import { filterName, labelIf } from './wanted.js';

/** What a reserve answers, with the names of leases in place of tokens. */
interface NamedReserve {
  readonly jobs: readonly (LeaseName & { readonly deadline?: number })[];
  readonly rateDenied: number;
}

/**
 * Says in words what a command and its answer came to, so that a run can show that it has met every kind of both. One
 * for each sequence: what is a repetition depends on what came before.
 */
export class Labels {
  readonly #settled = new Set<string>();
  readonly #seqs = new Map<string, number>();
  readonly #rounds = new Map<string, number>();
  readonly #made = new Set<string>();

  /** The labels of one command. */
  of(command: Command, answer: unknown): string[] {
    return [command.kind, ...this.#details(command, answer).map((detail) => `${command.kind} ${detail}`)];
  }

  #details(command: Command, answer: unknown): string[] {
    switch (command.kind) {
      case 'create':
        return [answer as string];
      case 'add':
        return [...addLabels(command, answer as AddAnswer), ...this.#again(command, answer as AddAnswer)];
      case 'seal':
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'forgetSlowness':
      case 'update':
        return groupLabels(answer as GroupAnswer);
      case 'fetch':
        return fetchLabels(answer as FetchAnswer);
      case 'dispatch':
        return dispatchLabels(answer as DispatchAnswer);
      case 'admit':
        return [(answer as Admission | undefined)?.reason ?? 'unknown'];
      case 'checkRate': {
        const rate = answer as { readonly allowed: boolean } | undefined;
        return [rate ? labelIf(rate.allowed, 'allowed', 'denied') : 'unknown'];
      }
      case 'reserve':
        return this.#reserve(command, answer as NamedReserve);
      case 'settle':
        return command.settlements.flatMap((one, at) =>
          this.#settle(one, one.outcome, (answer as readonly SettleAnswer[])[at] as SettleAnswer),
        );
      case 'renew':
      case 'giveBack':
        return [...(answer as readonly string[])];
      case 'recover':
        return recoverLabels(answer as RecoverAnswer);
      case 'leave':
        this.#seqs.delete(command.instanceId);
        return [];
      default:
        return this.#otherDetails(command, answer);
    }
  }

  #otherDetails(command: Command, answer: unknown): string[] {
    switch (command.kind) {
      case 'giveBackAll': {
        const { returned, more } = answer as { readonly returned: number; readonly more: boolean };
        return [labelIf(returned > 0, 'some', 'none'), ...(more ? ['more'] : [])];
      }
      case 'sweep': {
        const { swept, more, nextInMs } = answer as { swept: number; more: boolean; nextInMs?: number };
        const next = nextInMs === undefined ? [] : ['next'];
        return [labelIf(swept > 0, 'some', 'none'), ...(more ? ['more'] : []), ...next];
      }
      case 'watch':
        return watchLabels(answer as LookAnswer);
      case 'reconcile':
        return [labelIf((answer as number) > 0, 'some', 'none')];
      case 'redrive':
      case 'purge': {
        const { moved, more } = answer as { readonly moved: number; readonly more: boolean };
        const by = moved > 0 ? [`by ${filterName(command.filter)}`] : ['none'];
        return [...by, ...(more ? ['more'] : [])];
      }
      case 'instances':
        return [labelIf((answer as readonly unknown[]).length > 0, 'some', 'none')];
      case 'begin':
        return [(answer as { readonly kind: string }).kind];
      case 'renewOnce':
      case 'finish':
        return [String(answer)];
      case 'claim':
      case 'claimGroup':
        return claimLabels(answer as AggregationClaim | undefined);
      case 'renewAggregation':
      case 'finishAggregation':
      case 'failAggregation':
        return [String(answer)];
      default:
        return homeLabels(command, answer) ?? this.#lookDetails(command, answer);
    }
  }

  #lookDetails(command: Command, answer: unknown): string[] {
    switch (command.kind) {
      case 'group':
        return this.#group(answer as GroupView | undefined);
      case 'result': {
        const result = answer as GroupResult | undefined;
        if (!result) return ['none'];
        const later = [...(result.round > 1 ? ['of a later round'] : []), ...gatheredLabels(result)];
        return [result.status, ...later, ...(this.#isEarlier(result) ? ['of an earlier round'] : [])];
      }
      case 'job': {
        const job = answer as JobView | undefined;
        if (!job) return ['unknown'];
        const tries =
          job.failedTries.length === FAILED_TRIES_KEPT ? ['with all the tries that are kept'] : [];
        return [`${job.place} ${job.status}`, ...tries];
      }
      case 'explain':
        return explainLabels(answer as ExplainFacts | undefined);
      case 'tenant':
        return [labelIf(answer !== undefined, 'found', 'unknown')];
      case 'fairness':
        return (answer as readonly TenantShare[]).length > 1 ? ['several'] : [];
      case 'queues':
        return queueLabels(answer as QueuesView);
      case 'resources':
        return resourceLabels(answer as readonly ResourceState[]);
      case 'slowness':
        return slownessLabels(answer as GroupSlowness | undefined);
      case 'first page':
        return [command.list.kind];
      case 'signatures':
      case 'groups':
      case 'jobs':
      case 'results':
      case 'dead letters':
      case 'other pages': {
        const { length } = answer as readonly unknown[] | string;
        const several = 'limit' in command && length > command.limit ? ['in pages'] : [];
        return [...(Array.isArray(answer) && length > 0 ? ['some'] : []), ...several];
      }
      default:
        return [];
    }
  }

  #group(group: GroupView | undefined): string[] {
    if (!group) return ['unknown'];
    this.#rounds.set(group.id, group.round);
    return [
      group.status,
      ...(group.round > 1 ? ['in a later round'] : []),
      ...(group.paused ? ['paused'] : []),
    ];
  }

  /** A group that is new though it was there before: it was removed on the way. */
  #again({ definition: { key } }: Extract<Command, { kind: 'add' }>, answer: AddAnswer): string[] {
    if (answer.kind !== 'added' || answer.added === 0 || answer.added < answer.registered) return [];
    const isKnown = this.#made.has(key);
    this.#made.add(key);
    return isKnown ? ['after the end of its group'] : [];
  }

  #isEarlier({ groupId, round }: GroupResult): boolean {
    const last = this.#rounds.get(groupId) ?? 0;
    this.#rounds.set(groupId, Math.max(last, round));
    return round < last;
  }

  #reserve(command: Extract<Command, { kind: 'reserve' }>, answer: NamedReserve): string[] {
    const last = this.#seqs.get(command.instanceId) ?? 0;
    this.#seqs.set(command.instanceId, Math.max(last, command.seq));
    const some = answer.jobs.length > 0;
    if (command.seq === last) return [labelIf(some, 'repeated', 'repeated nothing')];
    if (command.seq < last) return ['old'];
    const denied = answer.rateDenied > 0 ? ['denied'] : [];
    if (command.turns > 0) denied.push(labelIf(some, 'some with turns', 'none with turns'));
    return [labelIf(some, 'some', 'none'), ...denied, ...(answer.jobs.length > 1 ? ['several'] : [])];
  }

  #settle(
    { key, jobId, nth }: LeaseName,
    outcome: {
      readonly kind: string;
      readonly reason?: string;
      readonly dead?: boolean;
      readonly throttle?: object;
    },
    { status, jobStatus, groupStatus }: SettleAnswer,
  ): string[] {
    if (status !== 'accepted') return [status];
    const name = `${key}/${jobId}/${nth}`;
    if (this.#settled.has(name)) return ['repeated'];
    this.#settled.add(name);
    const kind = outcome.kind === 'retry' ? `retry ${outcome.reason}` : outcome.kind;
    const throttled = outcome.throttle ? ['throttled'] : [];
    const ended = groupStatus === 'COMPLETED' ? ['ends the group'] : [];
    return [kind, `as ${jobStatus}`, ...(outcome.dead ? ['dead'] : []), ...throttled, ...ended];
  }
}

function homeLabels(command: Command, answer: unknown): string[] | undefined {
  switch (command.kind) {
    case 'createHere':
      return [answer as string];
    case 'addHere':
      return [(answer as { readonly kind: string }).kind];
    case 'claimHome':
    case 'locate': {
      const home = answer as GroupHome | undefined;
      if (typeof home !== 'object') return [home ?? 'unknown'];
      if (command.kind === 'locate') return ['elsewhere'];
      return [labelIf(home.shard === command.shard, 'claimed', 'told of another')];
    }
    case 'claims':
      return [labelIf((answer as readonly unknown[]).length > 0, 'some', 'none')];
    case 'checkHome':
      return [String(answer)];
    default:
      return undefined;
  }
}

function addLabels(command: Extract<Command, { kind: 'add' }>, answer: AddAnswer): string[] {
  if (answer.kind === 'sealed') return ['sealed'];
  if (answer.kind === 'full') return [`full ${answer.scope}`];
  const ids = command.jobs.map(({ id }) => id);
  return [
    ...(answer.added > 0 ? ['new'] : []),
    ...(answer.known > 0 ? ['known'] : []),
    ...(new Set(ids).size < ids.length ? ['duplicate ids'] : []),
    ...(ids.length === 0 ? ['nothing'] : []),
  ];
}

function groupLabels(answer: GroupAnswer | { readonly kind: 'mismatch' }): string[] {
  if (answer.kind !== 'done') return [answer.kind];
  return [labelIf(answer.changed, 'changed', 'unchanged'), `done ${answer.status}`];
}

function fetchLabels({ ready, rejected, room, nextInMs }: FetchAnswer): string[] {
  return [
    labelIf(ready > 0, 'some', 'none'),
    labelIf(room, 'room', 'full'),
    ...(rejected > 0 ? ['rejected'] : []),
    ...(nextInMs === undefined ? [] : ['next']),
    ...(nextInMs === 0 ? ['again at once'] : []),
  ];
}

function dispatchLabels({ moved, ready, skipped, nextInMs }: DispatchAnswer): string[] {
  return [
    ...(moved > 0 ? [] : ['none']),
    ...(ready > 0 ? ['to ready'] : []),
    ...(moved > ready ? ['to the lane or the end'] : []),
    ...(skipped ? ['skipped'] : []),
    ...(nextInMs === undefined ? [] : ['next']),
  ];
}

function watchLabels({ timedOut, looked, more, nextInMs }: LookAnswer): string[] {
  return [
    ...new Set(timedOut.map(({ code }) => code)),
    ...(looked === 0 ? ['none'] : []),
    ...(looked > timedOut.length ? ['moved on'] : []),
    ...(more ? ['more'] : []),
    ...(nextInMs === undefined ? [] : ['next']),
  ];
}

function claimLabels(claim: AggregationClaim | undefined): string[] {
  if (!claim) return ['not aggregating'];
  if (claim.aggregation) return ['claimed', ...(claim.aggregation.types.length > 1 ? ['several types'] : [])];
  return [claim.nextInMs === undefined ? 'none' : 'later'];
}

const gatheredLabels = ({ code, data, numbers, resultsDropped }: GroupResult): string[] => [
  ...(code === undefined ? [] : [code]),
  ...(data === undefined ? [] : ['with data']),
  ...(numbers === undefined ? [] : ['with numbers']),
  ...(resultsDropped === undefined ? [] : ['with dropped results']),
];

function recoverLabels({ recovered, dead, more }: RecoverAnswer): string[] {
  return [
    ...(recovered === 0 ? ['none'] : []),
    ...(recovered > dead.length ? ['some'] : []),
    ...(dead.length > 0 ? ['dead'] : []),
    ...(more ? ['more'] : []),
  ];
}

function explainLabels(facts: ExplainFacts | undefined): string[] {
  if (!facts) return ['unknown'];
  return [
    ...(facts.overShare ? ['over share'] : []),
    ...(facts.jobsAhead > 0 ? ['jobs ahead'] : []),
    ...(facts.groupsAhead > 0 ? ['groups ahead'] : []),
    ...(facts.tenantsAhead > 0 ? ['tenants ahead'] : []),
    labelIf(facts.processorKnown, 'processor', 'no processor'),
  ];
}

function queueLabels({
  parkedGroups,
  nonReadyByReason,
  startsPerSecond,
  oldestWaitingMs,
}: QueuesView): string[] {
  const reasons = Object.entries(nonReadyByReason).filter(([, count]) => count > 0);
  return [
    ...(parkedGroups > 0 ? ['parked'] : []),
    ...(startsPerSecond > 0 ? ['starts'] : []),
    ...(oldestWaitingMs > 0 ? ['somebody in line'] : []),
    ...reasons.map(([reason]) => reason),
  ];
}

const resourceLabels = (resources: readonly ResourceState[]): string[] => [
  ...(resources.length > 0 ? ['some'] : []),
  ...(resources.some(({ limit }) => limit !== null) ? ['limited'] : []),
  ...(resources.some(({ history }) => history.length > 1) ? ['with history'] : []),
];

function slownessLabels(slowness: GroupSlowness | undefined): string[] {
  if (!slowness) return ['none'];
  const { limit, frozenForMs, history } = slowness;
  return [
    ...(limit === null ? ['not slowed'] : ['slowed']),
    ...(frozenForMs > 0 ? ['frozen'] : []),
    ...(history.length > 1 ? ['with history'] : []),
  ];
}
