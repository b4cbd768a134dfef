import { hasEnded } from '../../../states.js';
import type { Change, GroupAdded, LimitsSet } from '../state/change.js';
import { Group, Tenant } from '../state/records.js';
import type { Recorded } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import { jumpClock, moveGroup, sealGroup, setPaused } from './apply-groups.js';
import { announce, drop, endJob, front, startJob, waitAgain } from './apply-jobs.js';
import { countLetter, forgetLetters, moveAggregation, redrive, reopen, returnLetters } from './apply-kept.js';
import { reweigh } from './tags.js';

/** Makes a change: applies it, and writes it into the note of the next commit. */
export function decide(state: EngineState, change: Change): void {
  applyChange(state, change, { seq: state.seq + 1, epoch: state.shard.epoch });
  state.changes.push(change);
}

/** The commit that a change belongs to. */
export interface When {
  readonly seq: number;
  /** Epoch of the fair order. */
  readonly epoch: number;
}

/**
 * Applies a change to what is durable, as of a commit. A record that already includes that commit is left alone, so a new
 * owner may apply notes to records of different ages.
 */
export function applyChange(state: EngineState, change: Change, when: When): void {
  const { group } = change as { readonly group?: Group };
  if (group) countGroup(state, group, -1);
  apply(state, change, when);
  if (group) countGroup(state, group, 1);
}

/** Adds a group to the counts of its tenant and of the shard, or takes it out while it changes. */
export function countGroup({ shard }: EngineState, group: Group, sign: 1 | -1): void {
  const { tenant, pending, status } = group;
  tenant.pending += sign * pending;
  shard.pending += sign * pending;
  if (pending > 0) shard.waitingGroups += sign;
  if (!hasEnded(status)) tenant.openGroups += sign;
}

function apply(state: EngineState, change: Change, { seq, epoch }: When): void {
  const isNewTo = (record: Recorded) => touch(state, record, seq);
  switch (change.kind) {
    case 'resource':
      isNewTo(state.addResource(change.number, change.name));
      break;
    case 'tenant':
      if (!state.byNumber.has(change.number)) isNewTo(state.addTenant(change.number, change.id));
      break;
    case 'group':
      if (!state.byNumber.has(change.number)) isNewTo(addGroup(state, change));
      break;
    case 'started':
      startJob(state, change, epoch, isNewTo);
      break;
    case 'ended':
      endJob(change, epoch, isNewTo);
      countLetter(state, change, isNewTo);
      break;
    case 'requeued':
    case 'delayed':
      waitAgain(state, change, epoch, isNewTo);
      break;
    case 'announced':
      if (isNewTo(change.group)) announce(change);
      break;
    case 'fronted':
      if (isNewTo(change.group)) front(change);
      break;
    case 'dropped':
      if (isNewTo(change.group)) drop(change);
      break;
    case 'redriven':
      redrive(state, change, isNewTo);
      break;
    case 'reopened':
      if (isNewTo(change.group)) reopen(change);
      break;
    case 'letters-returned':
      returnLetters(state, change, isNewTo);
      break;
    case 'letters-gone':
      forgetLetters(state, change, isNewTo);
      break;
    case 'aggregation':
      if (isNewTo(change.group)) moveAggregation(change);
      break;
    case 'sealed':
      if (isNewTo(change.group)) sealGroup(change);
      break;
    case 'moved':
      if (isNewTo(change.group)) moveGroup(change);
      break;
    case 'paused':
      if (isNewTo(change.scope)) setPaused(change);
      break;
    case 'limits':
      if (isNewTo(change.scope)) setLimits(state, change, epoch);
      break;
    case 'settings': {
      const { group } = change;
      if (!isNewTo(group)) break;
      group.timeoutMs = change.timeoutMs;
      group.deadlineMs = change.deadlineMs;
      reweigh(group, change.virtual, epoch, () => {
        group.priorityLevel = change.priorityLevel;
      });
      break;
    }
    case 'forgotten':
      if (isNewTo(change.group)) change.group.lastBackoffMs = 0;
      break;
    case 'clock':
      jumpClock(state, change, isNewTo);
      break;
    case 'answered':
      if (isNewTo(state.shard)) state.shard.nonces.add(change.instanceId, change.nonce, change.result);
      break;
    case 'epoch':
      if (isNewTo(state.shard)) state.shard.epoch += 1;
  }
}

/** Reports whether a change of this commit is new to a record, and marks the record as changed. */
function touch(state: EngineState, record: Recorded, seq: number): boolean {
  if (record.recordSeq >= seq) return false;
  if (!state.dirty.has(record)) {
    record.dirtySeq = seq;
    record.dirtyChange = state.changesMade;
    state.dirty.push(record);
  }
  return true;
}

function addGroup(state: EngineState, { number, id, tenant, settings, atUs }: GroupAdded): Group {
  const group = state.addGroup(number, id, tenant, Math.floor(atUs / 1000));
  group.weight = settings.weight;
  group.priorityLevel = settings.priorityLevel;
  group.timeoutMs = settings.timeoutMs;
  group.deadlineMs = settings.deadlineMs;
  group.notBeforeMs = settings.notBeforeMs;
  group.isOrdered = settings.isOrdered;
  group.isSealable = settings.isSealable;
  group.concurrency = settings.concurrency;
  group.setRate(settings, atUs, state.config.limits.costMax);
  countGroup(state, group, 1);
  return group;
}

function setLimits(state: EngineState, change: LimitsSet, epoch: number): void {
  const { scope } = change;
  scope.concurrency = change.concurrency;
  scope.setRate(change, change.atUs, state.config.limits.costMax);
  if (scope instanceof Tenant) {
    scope.minShare = change.minShare;
    scope.isConfigured = true;
  }
  if (scope instanceof Tenant || scope instanceof Group)
    reweigh(scope, change.virtual, epoch, () => {
      scope.weight = change.weight;
    });
}
