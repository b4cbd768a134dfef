import { GroupStatus, PriorityLevel } from '../../../states.js';
import type {
  CongestionForgotten,
  EpochEnded,
  GroupAdded,
  GroupMoved,
  GroupSealed,
  GroupSet,
  GroupSettings,
  LimitsSet,
  Paused,
  ResourceAdded,
  TenantAdded,
} from '../state/change.js';
import { Tenant } from '../state/records.js';
import { Scope } from '../state/scope.js';
import type { ByteReader, ByteWriter } from './bytes.js';
import { type ChangeCodec, pick } from './note-stream.js';

const STATUSES = Object.values(GroupStatus);
const LEVELS = Object.values(PriorityLevel);

const resource: ChangeCodec<ResourceAdded> = {
  write(out, { number, name }) {
    out.bytes.count(number);
    out.bytes.text(name);
  },
  read: ({ bytes }) => ({ number: bytes.count(), name: bytes.text() }),
};

const tenant: ChangeCodec<TenantAdded> = {
  write(out, { number, id }) {
    out.bytes.count(number);
    out.bytes.text(id);
  },
  read: ({ bytes }) => ({ number: bytes.count(), id: bytes.text() }),
};

const group: ChangeCodec<GroupAdded> = {
  write(out, change) {
    out.bytes.count(change.number);
    out.bytes.count(change.tenant.number);
    out.bytes.text(change.id);
    out.time(change.atUs);
    writeSettings(out.bytes, change.settings, change.settings);
  },
  read: (from) => ({
    number: from.bytes.count(),
    tenant: from.record(from.bytes.count(), Tenant),
    id: from.bytes.text(),
    atUs: from.time(),
    settings: readSettings(from.bytes),
  }),
};

const sealed: ChangeCodec<GroupSealed> = {
  write: (out, change) => out.group(change.group),
  read: (from) => ({ group: from.group() }),
};

const moved: ChangeCodec<GroupMoved> = {
  write(out, change) {
    out.group(change.group);
    out.bytes.byte(STATUSES.indexOf(change.status));
    out.bytes.text(change.code ?? '');
    out.bytes.count(change.round);
    out.time(change.atUs);
  },
  read: (from) => ({
    group: from.group(),
    status: pick(STATUSES, from.bytes.byte()),
    code: from.bytes.text() || undefined,
    round: from.bytes.count(),
    atUs: from.time(),
  }),
};

const paused: ChangeCodec<Paused> = {
  write(out, { scope, isPaused, atUs }) {
    out.bytes.integer(scope.number);
    out.bytes.byte(isPaused ? 1 : 0);
    out.time(atUs);
  },
  read: (from) => ({
    scope: from.record(from.bytes.integer(), Scope),
    isPaused: from.bytes.byte() === 1,
    atUs: from.time(),
  }),
};

const limits: ChangeCodec<LimitsSet> = {
  write(out, change) {
    const { bytes } = out;
    bytes.integer(change.scope.number);
    bytes.number(change.weight);
    bytes.optional(change.rps);
    bytes.optional(change.burst);
    bytes.optional(change.concurrency);
    bytes.number(change.minShare);
    bytes.number(change.virtual);
    out.time(change.atUs);
  },
  read: (from) => ({
    scope: from.record(from.bytes.integer(), Scope),
    weight: from.bytes.number(),
    rps: from.bytes.optional(),
    burst: from.bytes.optional(),
    concurrency: from.bytes.optional(),
    minShare: from.bytes.number(),
    virtual: from.bytes.number(),
    atUs: from.time(),
  }),
};

const settings: ChangeCodec<GroupSet> = {
  write(out, change) {
    out.group(change.group);
    out.bytes.byte(LEVELS.indexOf(change.priorityLevel));
    out.bytes.number(change.virtual);
    out.bytes.count(change.timeoutMs);
    out.bytes.optional(change.deadlineMs);
  },
  read: (from) => ({
    group: from.group(),
    priorityLevel: pick(LEVELS, from.bytes.byte()),
    virtual: from.bytes.number(),
    timeoutMs: from.bytes.count(),
    deadlineMs: from.bytes.optional(),
  }),
};

const forgotten: ChangeCodec<CongestionForgotten> = {
  write: (out, change) => out.group(change.group),
  read: (from) => ({ group: from.group() }),
};

const epoch: ChangeCodec<EpochEnded> = { write() {}, read: () => ({}) };

/** Changes of groups, tenants and the shard. */
export const GROUP_CHANGES = {
  resource,
  tenant,
  group,
  sealed,
  moved,
  paused,
  limits,
  settings,
  forgotten,
  epoch,
};

/** Writes the definition of a group; also part of its record. */
export function writeSettings(
  out: ByteWriter,
  settings: Omit<GroupSettings, 'rps' | 'burst'>,
  rate: Pick<GroupSettings, 'rps' | 'burst'> = {},
): void {
  out.number(settings.weight);
  out.byte(LEVELS.indexOf(settings.priorityLevel));
  out.optional(rate.rps);
  out.optional(rate.burst);
  out.optional(settings.concurrency);
  out.count(settings.timeoutMs);
  out.optional(settings.deadlineMs);
  out.optional(settings.notBeforeMs);
  out.byte((settings.isOrdered ? 1 : 0) + (settings.isSealable ? 2 : 0));
}

/** Reads the definition of a group. */
export function readSettings(from: ByteReader): GroupSettings {
  const weight = from.number();
  const priorityLevel = pick(LEVELS, from.byte());
  const rps = from.optional();
  const burst = from.optional();
  const concurrency = from.optional();
  const timeoutMs = from.count();
  const deadlineMs = from.optional();
  const notBeforeMs = from.optional();
  const flags = from.byte();
  const limits = { weight, priorityLevel, rps, burst, concurrency, timeoutMs, deadlineMs, notBeforeMs };
  return { ...limits, isOrdered: (flags & 1) > 0, isSealable: (flags & 2) > 0 };
}
