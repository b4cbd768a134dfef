import { GroupStatus, NonReadyReason, PriorityLevel } from '../../../states.js';
import type {
  Change,
  ChargeCorrection,
  CongestionForgotten,
  EpochEnded,
  GroupSet,
  GroupSettings,
  JobEnded,
  JobStarted,
  NoticeAnswered,
  Refund,
  ResourceAdded,
  TenantAdded,
} from '../state/change.js';
import type { Aggregation, EndKept } from '../state/kept.js';
import type { CommandResult, RefusalCode } from '../state/message.js';
import { Group, Resource, Tenant } from '../state/records.js';
import { type Recorded, Scope } from '../state/scope.js';
import {
  BOOLEAN,
  COUNT,
  type Codec,
  FLOAT,
  INTEGER,
  layout,
  listOf,
  maybe,
  NAME,
  NUMBER,
  OPTIONAL,
  oneOf,
  pairOf,
  pick,
  TEXT,
  TIME,
} from './codec.js';

/** How a kind of change is written into a note and read from it. */
export type ChangeCodec<C> = Codec<Fields<C>>;
type Fields<C> = Omit<C, 'kind'>;
type Codecs = { readonly [K in Change['kind']]: ChangeCodec<Extract<Change, { kind: K }>> };

export const STATUS = oneOf(Object.values(GroupStatus));
export const REASON = oneOf(Object.values(NonReadyReason));

/** A record by its number. */
const numbered = <T extends Recorded>(type: abstract new (...args: never) => T): Codec<T> => ({
  write: (out, { number }) => out.bytes.integer(number),
  read: (from) => from.record(from.bytes.integer(), type),
});
const SCOPE = numbered<Scope>(Scope);
const GROUP = numbered(Group);
export const TENANT = numbered(Tenant);
const RESOURCE = maybe(numbered(Resource));
/** An instance: its id stands in a note once. */
const INSTANCE: Codec<string> = {
  write({ bytes, instances }, id) {
    const at = instances.indexOf(id);
    bytes.count(at + 1);
    if (at >= 0) return;
    bytes.text(id);
    instances.push(id);
  },
  read({ bytes, instances }) {
    const known = instances[bytes.count() - 1];
    if (known !== undefined) return known;
    const id = bytes.text();
    instances.push(id);
    return id;
  },
};

const CORRECTION = maybe(layout<ChargeCorrection>({ by: FLOAT, resource: RESOURCE }));
const REFUND = maybe(layout<Refund>({ cost: COUNT, startedUs: TIME, resource: RESOURCE }));
/** What an end leaves behind. */
export const END_KEPT = layout<EndKept>({
  resultBytes: OPTIONAL,
  isDropped: BOOLEAN,
  isDetailed: BOOLEAN,
  isLetter: BOOLEAN,
  aggregator: NAME,
  numbers: maybe({
    write: (out, numbers) => NUMBERS.write(out, Object.entries(numbers)),
    read: (from) => Object.fromEntries(NUMBERS.read(from)),
  }),
});
const NUMBERS = listOf(pairOf(TEXT, NUMBER));

export const AGGREGATION_FIELDS = {
  attempt: COUNT,
  failures: COUNT,
  instanceId: TEXT,
  dueMs: COUNT,
} satisfies { [K in keyof Aggregation]: Codec<Aggregation[K]> };

/** What a group's definition and its record have alike. */
export const SETTINGS_FIELDS = {
  weight: NUMBER,
  priorityLevel: oneOf(Object.values(PriorityLevel)),
  concurrency: OPTIONAL,
  timeoutMs: COUNT,
  deadlineMs: OPTIONAL,
  notBeforeMs: OPTIONAL,
  isOrdered: BOOLEAN,
  isSealable: BOOLEAN,
};
const SETTINGS = layout<GroupSettings>({ ...SETTINGS_FIELDS, rps: OPTIONAL, burst: OPTIONAL });

const RESULTS = oneOf(['done', 'not-found', 'ended', 'refused'] as const);
const REFUSALS = oneOf<RefusalCode>(['ORDERED', 'MIN_SHARE']);
/** What came of a notice. */
export const RESULT: Codec<CommandResult> = {
  write(out, result) {
    RESULTS.write(out, result.kind);
    if (result.kind === 'refused') REFUSALS.write(out, result.code);
  },
  read(from) {
    const kind = RESULTS.read(from);
    return kind === 'refused' ? { kind, code: REFUSALS.read(from) } : { kind };
  },
};

const HAS_CHARGE = 1;
const IS_LIMITED = 2;
const IS_MINIMUM = 4;

/** Most bytes of a note are starts and ends, so they are written by hand. A start takes about 16 bytes, an end about 9. */
const started: ChangeCodec<JobStarted> = {
  write(out, change) {
    const { bytes } = out;
    const { cost, charge, isLimited, isMinimum } = change;
    const flags = (charge === cost ? 0 : HAS_CHARGE) + (isLimited ? IS_LIMITED : 0);
    GROUP.write(out, change.group);
    bytes.count(change.position);
    bytes.count(change.attempt);
    INSTANCE.write(out, change.instanceId);
    bytes.count(cost);
    bytes.byte(flags + (isMinimum ? IS_MINIMUM : 0));
    if (charge !== cost) bytes.number(charge);
    bytes.count(change.resource?.number ?? 0);
    bytes.tag(change.groupStart);
    bytes.tag(change.seatStart);
    if (isLimited) bytes.tag(change.freeStart);
    TIME.write(out, change.atUs);
  },
  read(from) {
    const { bytes } = from;
    const group = GROUP.read(from);
    const position = bytes.count();
    const attempt = bytes.count();
    const instanceId = INSTANCE.read(from);
    const cost = bytes.count();
    const flags = bytes.byte();
    const charge = flags & HAS_CHARGE ? bytes.number() : cost;
    const number = bytes.count();
    const resource = number === 0 ? undefined : from.record(number, Resource);
    const isLimited = (flags & IS_LIMITED) > 0;
    const isMinimum = (flags & IS_MINIMUM) > 0;
    const groupStart = bytes.tag();
    const seatStart = bytes.tag();
    const freeStart = isLimited ? bytes.tag() : seatStart;
    const tags = { isLimited, isMinimum, groupStart, seatStart, freeStart };
    return { group, position, attempt, instanceId, cost, charge, resource, ...tags, atUs: TIME.read(from) };
  },
};

const OUTCOMES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;
const HAS_KEPT = 4;

const ended: ChangeCodec<JobEnded> = {
  write(out, change) {
    const { bytes } = out;
    GROUP.write(out, change.group);
    bytes.count(change.position);
    bytes.byte(OUTCOMES.indexOf(change.outcome) + (change.kept ? HAS_KEPT : 0));
    OPTIONAL.write(out, change.durationMs);
    if (change.outcome === 'FAILED') bytes.text(change.code ?? '');
    CORRECTION.write(out, change.correction);
    TIME.write(out, change.atUs);
    if (change.kept) END_KEPT.write(out, change.kept);
  },
  read(from) {
    const { bytes } = from;
    const group = GROUP.read(from);
    const position = bytes.count();
    const flags = bytes.byte();
    const outcome = pick(OUTCOMES, flags & ~HAS_KEPT);
    const durationMs = OPTIONAL.read(from);
    const code = outcome === 'FAILED' ? bytes.text() : undefined;
    const correction = CORRECTION.read(from);
    const atUs = TIME.read(from);
    const kept = flags & HAS_KEPT ? END_KEPT.read(from) : undefined;
    return { group, position, outcome, durationMs, code, correction, atUs, kept };
  },
};

const WAITING = {
  group: GROUP,
  position: COUNT,
  attempt: COUNT,
  retryCount: COUNT,
  orphanCount: COUNT,
  correction: CORRECTION,
};
const CHUNK = { group: GROUP, address: COUNT };

/** Each kind of change. A kind is stored as its place here. */
export const CHANGES: Codecs = {
  started,
  ended,
  requeued: layout({ ...WAITING, refund: REFUND, isFirst: BOOLEAN }),
  delayed: layout({ ...WAITING, dueMs: COUNT, reason: REASON, backoffMs: OPTIONAL, throttledBy: RESOURCE }),
  announced: layout({ ...CHUNK, jobs: COUNT, isLate: BOOLEAN, atUs: TIME }),
  fronted: layout({ ...CHUNK, jobs: COUNT }),
  dropped: layout({ ...CHUNK }),
  redriven: layout({
    ...{ ...CHUNK, failed: COUNT, cancelled: COUNT, added: COUNT, details: COUNT },
    codes: listOf(pairOf(TEXT, COUNT)),
    atUs: TIME,
  }),
  reopened: layout({ group: GROUP, atUs: TIME }),
  'letters-returned': layout({ ...CHUNK, letters: COUNT }),
  'letters-gone': layout({ group: maybe(GROUP), letters: COUNT }),
  aggregation: layout({ group: GROUP, ...AGGREGATION_FIELDS }),
  resource: layout<Fields<ResourceAdded>>({ number: COUNT, name: TEXT }),
  tenant: layout<Fields<TenantAdded>>({ number: COUNT, id: TEXT }),
  group: layout({ number: COUNT, tenant: TENANT, id: TEXT, atUs: TIME, settings: SETTINGS }),
  sealed: layout({ group: GROUP }),
  moved: layout({ group: GROUP, status: STATUS, code: NAME, round: COUNT, atUs: TIME }),
  paused: layout({ scope: SCOPE, isPaused: BOOLEAN, atUs: TIME }),
  limits: layout({
    ...{ scope: SCOPE, weight: NUMBER, rps: OPTIONAL, burst: OPTIONAL, concurrency: OPTIONAL },
    ...{ minShare: NUMBER, virtual: NUMBER, atUs: TIME },
  }),
  settings: layout<Fields<GroupSet>>({
    ...{ group: GROUP, priorityLevel: SETTINGS_FIELDS.priorityLevel, virtual: NUMBER },
    ...{ timeoutMs: COUNT, deadlineMs: OPTIONAL },
  }),
  forgotten: layout<Fields<CongestionForgotten>>({ group: GROUP }),
  answered: layout<Fields<NoticeAnswered>>({ instanceId: INSTANCE, nonce: COUNT, result: RESULT }),
  clock: layout({ atUs: TIME, deltaUs: INTEGER }),
  epoch: layout<Fields<EpochEnded>>({}),
};
