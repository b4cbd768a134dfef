import type { VirtualTime } from '../state/records.js';
import type { Rate, Scope } from '../state/scope.js';
import type { Shard } from '../state/state.js';
import type { ByteReader, ByteWriter } from './bytes.js';

/** Writes what the shard, resources and tenants have alike. The limits of a group are part of its settings. */
export function packScope(out: ByteWriter, scope: Scope): void {
  out.number(scope.weight);
  out.optional(scope.concurrency);
  packRate(out, scope.rate);
  packTimes(out, scope);
}

export function unpackScope(scope: Scope, from: ByteReader): void {
  scope.weight = from.number();
  scope.concurrency = from.optional();
  scope.rate = unpackRate(from);
  unpackTimes(scope, from);
}

/** Writes pauses, and when the bucket was full. */
export function packTimes(out: ByteWriter, { pausedMs, quietFromMs, fullUs }: Scope): void {
  out.optional(pausedMs);
  out.number(quietFromMs);
  out.number(fullUs);
}

export function unpackTimes(scope: Scope, from: ByteReader): void {
  scope.pausedMs = from.optional();
  scope.quietFromMs = from.number();
  scope.fullUs = from.number();
}

function packRate(out: ByteWriter, rate: Rate | undefined): void {
  out.optional(rate?.rps);
  if (!rate) return;
  out.number(rate.burst);
  out.number(rate.costMax);
  out.number(rate.tatUs);
}

function unpackRate(from: ByteReader): Rate | undefined {
  const rps = from.optional();
  if (rps === undefined) return undefined;
  return { rps, burst: from.number(), costMax: from.number(), tatUs: from.number() };
}

/** Reports whether a virtual time is worth storing. One without a start exists only in this owner. */
export const counts = ({ stored, epoch }: Pick<VirtualTime, 'stored' | 'epoch'>, shard: Shard): boolean =>
  stored > 0 && epoch === shard.epoch;

/** Writes a virtual time, which counts in its epoch only. */
export function packTime(out: ByteWriter, { stored, epoch }: VirtualTime, shard: Shard): void {
  const isStored = counts({ stored, epoch }, shard);
  out.count(isStored ? epoch : 0);
  out.tag(isStored ? stored : 0);
}

export function unpackTime(time: VirtualTime, from: ByteReader): void {
  time.epoch = from.count();
  time.stored = from.tag();
  time.live = time.stored;
}
