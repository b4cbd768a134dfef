import { GroupStatus, NonReadyReason } from '../../../states.js';
import { type AwayTag, Group, Job, newTime, Resource, type Seat, Tenant } from '../state/records.js';
import type { Recorded } from '../state/scope.js';
import type { EngineState, Shard } from '../state/state.js';
import { ByteReader, type ByteWriter, FormatError } from './bytes.js';
import { readSettings, writeSettings } from './group-changes.js';
import { packKept, unpackKept } from './kept.js';
import { pick } from './note-stream.js';
import { packNonces, unpackNonces } from './notice-changes.js';
import {
  counts,
  packScope,
  packTime,
  packTimes,
  unpackScope,
  unpackTime,
  unpackTimes,
} from './scope-record.js';

const RECORD_VERSION = 1;
const KINDS = ['shard', 'resource', 'tenant', 'group'] as const;
const STATUSES = Object.values(GroupStatus);
const REASONS = Object.values(NonReadyReason);

/** The record of learnt rates. No commit is part of it: see `smoothing.ts`. */
export const SMOOTHING_KEY = 'm';

/** A record as the journal keeps it. */
export interface StoredRecord {
  /** Names it in the journal: `s`, `r:<name>`, `t:<id>`, `g:<id>`, and `m` for learnt rates. */
  readonly key: string;
  readonly bytes: Uint8Array;
}

/**
 * Writes the durable part of a record as of commit `seq`: absolute values, so that it may be written again at any time. Ready jobs
 * are written as waiting.
 */
export function packRecord(out: ByteWriter, state: EngineState, record: Recorded, seq: number): StoredRecord {
  out.begin(RECORD_VERSION);
  out.count(seq);
  if (record instanceof Group) {
    out.byte(KINDS.indexOf('group'));
    packGroup(out, record, state.shard);
    return { key: `g:${record.id}`, bytes: out.finish() };
  }
  if (record instanceof Tenant) {
    out.byte(KINDS.indexOf('tenant'));
    packTenant(out, record, state.shard);
    return { key: `t:${record.id}`, bytes: out.finish() };
  }
  if (record instanceof Resource) {
    out.byte(KINDS.indexOf('resource'));
    packResourceName(out, record);
    packScope(out, record);
    packTime(out, record.line.clock, state.shard);
    out.count(record.starts);
    out.count(record.throttles);
    return { key: `r:${record.name}`, bytes: out.finish() };
  }
  out.byte(KINDS.indexOf('shard'));
  packShard(out, state.shard);
  return { key: 's', bytes: out.finish() };
}

/**
 * Adds stored records to an empty state. A group is read after its tenant, and tenants after the resources.
 * @throws FormatError if a record is damaged.
 */
export function unpackRecords(state: EngineState, records: readonly StoredRecord[]): void {
  const readers = records.flatMap(({ key, bytes }) => {
    if (key === SMOOTHING_KEY) return [];
    const from = new ByteReader(bytes, RECORD_VERSION);
    const seq = from.count();
    return [{ from, seq, kind: pick(KINDS, from.byte()) }];
  });
  for (const wanted of KINDS)
    for (const { from, seq, kind } of readers) {
      if (kind !== wanted) continue;
      const record = UNPACK[kind](state, from);
      record.recordSeq = seq;
    }
}

const UNPACK: Record<(typeof KINDS)[number], (state: EngineState, from: ByteReader) => Recorded> = {
  shard: ({ shard }, from) => unpackShard(shard, from),
  resource(state, from) {
    const resource = unpackResourceName(state, from);
    unpackScope(resource, from);
    unpackTime(resource.line.clock, from);
    resource.starts = from.count();
    resource.throttles = from.count();
    return resource;
  },
  tenant: unpackTenant,
  group: unpackGroup,
};

function packShard(out: ByteWriter, shard: Shard): void {
  packScope(out, shard);
  packTime(out, shard.free.clock, shard);
  out.count(shard.epoch);
  out.count(shard.nextNumber);
  packNonces(out, shard.nonces);
  out.count(shard.letters);
}

function unpackShard(shard: Shard, from: ByteReader): Shard {
  unpackScope(shard, from);
  unpackTime(shard.free.clock, from);
  shard.epoch = from.count();
  shard.nextNumber = from.count();
  unpackNonces(shard.nonces, from);
  shard.letters = from.count();
  return shard;
}

/** A record may name a resource whose own record was never written: the name stands beside the number. */
function packResourceName(out: ByteWriter, { number, name }: Resource): void {
  out.count(number);
  out.text(name);
}

/** Returns the resource that a record names; adds it if it is new. */
const unpackResourceName = (state: EngineState, from: ByteReader): Resource =>
  state.addResource(from.count(), from.text());

const byResource = (a: { readonly resource: Resource }, b: { readonly resource: Resource }): number =>
  a.resource.number - b.resource.number;

function packTenant(out: ByteWriter, tenant: Tenant, shard: Shard): void {
  out.count(tenant.number);
  out.text(tenant.id);
  packScope(out, tenant);
  out.number(tenant.minShare);
  out.byte(tenant.isConfigured ? 1 : 0);
  out.number(tenant.served);
  packSeat(out, tenant.free, shard);
  const seats = [...tenant.seats]
    .map(([resource, seat]) => ({ resource, seat }))
    .filter(({ seat: { tag, clock } }) => counts(tag, shard) || counts(clock, shard))
    .sort(byResource);
  out.count(seats.length);
  for (const { resource, seat } of seats) {
    packResourceName(out, resource);
    packSeat(out, seat, shard);
  }
}

function unpackTenant(state: EngineState, from: ByteReader): Tenant {
  const tenant = state.addTenant(from.count(), from.text());
  unpackScope(tenant, from);
  tenant.minShare = from.number();
  tenant.isConfigured = from.byte() === 1;
  tenant.served = from.number();
  unpackSeat(tenant.free, from);
  for (let left = from.count(); left > 0; left--)
    unpackSeat(tenant.seatAt(unpackResourceName(state, from)), from);
  return tenant;
}

function packSeat(out: ByteWriter, { tag, clock }: Seat, shard: Shard): void {
  packTime(out, tag, shard);
  packTime(out, clock, shard);
}

function unpackSeat({ tag, clock }: Seat, from: ByteReader): void {
  unpackTime(tag, from);
  unpackTime(clock, from);
}

function packAway(out: ByteWriter, group: Group, shard: Shard): void {
  const tags: AwayTag[] = [];
  for (let { away } = group; away; away = away.next) if (counts(away.tag, shard)) tags.push(away);
  out.count(tags.length);
  for (const { resource, tag } of tags.sort(byResource)) {
    packResourceName(out, resource);
    packTime(out, tag, shard);
  }
}

function packGroup(out: ByteWriter, group: Group, shard: Shard): void {
  out.count(group.number);
  out.text(group.id);
  out.count(group.tenant.number);
  out.count(group.createdMs);
  writeSettings(out, group, group.rate);
  out.optional(group.rate?.tatUs);
  packTimes(out, group);
  out.byte(group.isSealed ? 1 : 0);
  out.byte(STATUSES.indexOf(group.status));
  out.text(group.code ?? '');
  out.count(group.round);
  out.optional(group.startedMs);
  out.optional(group.endedMs);
  out.count(group.progressMs);
  packCounters(out, group);
  packTime(out, group.tag, shard);
  packAway(out, group, shard);
  packQueues(out, group);
  packJobs(out, group);
  out.count(group.outcomes.size);
  for (const [address, { ended, bits }] of group.outcomes) {
    out.count(address);
    out.byte(ended);
    for (const byte of bits) out.byte(byte);
  }
  out.count(group.skipped.size);
  for (const position of group.skipped) out.count(position);
  packKept(out, group.kept);
}

function unpackGroup(state: EngineState, from: ByteReader): Group {
  const number = from.count();
  const id = from.text();
  const tenant = state.byNumber.get(from.count());
  if (!(tenant instanceof Tenant)) throw new FormatError(`The tenant of group ${id} has no record`);
  const group = state.addGroup(number, id, tenant, from.count());
  const { rps, burst, ...settings } = readSettings(from);
  Object.assign(group, settings);
  const tatUs = from.optional();
  if (rps !== undefined && burst !== undefined)
    group.rate = { rps, burst, tatUs: tatUs ?? 0, costMax: state.config.limits.costMax };
  unpackTimes(group, from);
  group.isSealed = from.byte() === 1;
  group.status = pick(STATUSES, from.byte());
  group.code = from.text() || undefined;
  group.round = from.count();
  group.startedMs = from.optional();
  group.endedMs = from.optional();
  group.progressMs = from.count();
  unpackCounters(group, from);
  unpackTime(group.tag, from);
  for (let left = from.count(); left > 0; left--) {
    group.away = { resource: unpackResourceName(state, from), tag: newTime(), next: group.away };
    unpackTime(group.away.tag, from);
  }
  unpackQueues(group, from);
  unpackJobs(state, group, from);
  for (let left = from.count(); left > 0; left--) {
    const address = from.count();
    const ended = from.byte();
    const bits = Uint8Array.from({ length: 16 }, () => from.byte());
    group.outcomes.set(address, { ended, bits, facts: [], codes: undefined });
  }
  for (let left = from.count(); left > 0; left--) group.skipped.add(from.count());
  group.kept = unpackKept(from);
  return group;
}

const COUNTERS = [
  'registered',
  'success',
  'failed',
  'cancelled',
  'late',
  'throttled',
  'rateDenied',
  'lastBackoffMs',
] as const;

function packCounters(out: ByteWriter, group: Group): void {
  for (const name of COUNTERS) out.number(group[name]);
  const { count, sum, min, max, buckets } = group.durations;
  for (const value of [count, sum, min, max, buckets.length, ...buckets]) out.number(value);
  out.count(group.codes?.size ?? 0);
  for (const [code, failures] of group.codes ?? []) {
    out.text(code);
    out.count(failures);
  }
}

function unpackCounters(group: Group, from: ByteReader): void {
  for (const name of COUNTERS) group[name] = from.number();
  const { durations } = group;
  durations.count = from.number();
  durations.sum = from.number();
  durations.min = from.number();
  durations.max = from.number();
  for (let left = from.number(); left > 0; left--) durations.buckets.push(from.number());
  const codes = Array.from({ length: from.count() }, () => [from.text(), from.count()] as const);
  group.codes = codes.length > 0 ? new Map(codes) : undefined;
}

function packQueues(out: ByteWriter, group: Group): void {
  const queues = group.queues.filter((queue) => queue !== undefined);
  out.byte(queues.length);
  for (const { priority, next, tail, late } of queues) {
    out.byte(priority);
    out.count(next);
    out.count(tail);
    out.count(late.length);
    for (const address of late) out.count(address);
  }
}

function unpackQueues(group: Group, from: ByteReader): void {
  for (let left = from.byte(); left > 0; left--) {
    const queue = group.queueOf(from.byte());
    queue.next = from.count();
    queue.tail = from.count();
    for (let late = from.count(); late > 0; late--) queue.late.push(from.count());
  }
}

function packJobs(out: ByteWriter, group: Group): void {
  out.count(group.inFlight.size);
  for (const job of group.inFlight.values()) {
    packJob(out, job);
    out.text(job.instanceId);
    out.count(job.startedUs);
    out.count(job.cost);
    const { resource, turn } = job;
    out.byte((resource ? 1 : 0) + (turn?.seat.line.resource ? 2 : 0));
    if (resource) packResourceName(out, resource);
    out.number(turn?.charge ?? 0);
  }
  const front = [...group.ready.filter((job) => job.isFromFront), ...group.front];
  out.count(front.length);
  for (const job of front) packJob(out, job);
  out.count(group.delayed.size);
  for (const job of group.delayed.values()) {
    packJob(out, job);
    out.count(job.dueMs);
    out.byte(REASONS.indexOf(job.reason));
  }
}

function unpackJobs(state: EngineState, group: Group, from: ByteReader): void {
  for (let left = from.count(); left > 0; left--) {
    const job = unpackJob(group, from);
    job.place = 'IN_FLIGHT';
    job.instanceId = from.text();
    job.startedUs = from.count();
    job.cost = from.count();
    const flags = from.byte();
    if (flags & 1) job.resource = unpackResourceName(state, from);
    const seat = flags & 2 && job.resource ? group.tenant.seatAt(job.resource) : group.tenant.free;
    const tags = { groupStart: 0, seatStart: 0, freeStart: 0, isMinimum: false };
    job.turn = { seat, charge: from.number(), ...tags };
    group.inFlight.set(job.position, job);
  }
  for (let left = from.count(); left > 0; left--) group.front.push(unpackJob(group, from));
  for (let left = from.count(); left > 0; left--) {
    const job = unpackJob(group, from);
    job.place = 'DELAYED';
    job.dueMs = from.count();
    job.reason = pick(REASONS, from.byte());
    group.delayed.set(job.position, job);
  }
}

function packJob(out: ByteWriter, { position, attempt, retryCount, orphanCount }: Job): void {
  for (const value of [position, attempt, retryCount, orphanCount]) out.count(value);
}

function unpackJob(group: Group, from: ByteReader): Job {
  const job = new Job(group, from.count());
  job.attempt = from.count();
  job.retryCount = from.count();
  job.orphanCount = from.count();
  return job;
}
