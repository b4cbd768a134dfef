import type { Histogram } from '../../../rules/histogram.js';
import type { ChunkOutcomes } from '../state/chunks.js';
import { Kept, type NumberSums } from '../state/kept.js';
import type { Nonces } from '../state/message.js';
import {
  type AwayTag,
  FairLine,
  Group,
  Job,
  newTime,
  type Queue,
  Resource,
  type Seat,
  Tenant,
  type VirtualTime,
} from '../state/records.js';
import type { Rate, Recorded } from '../state/scope.js';
import type { EngineState, Shard } from '../state/state.js';
import { ByteReader, type ByteWriter } from './bytes.js';
import { AGGREGATION_FIELDS, REASON, RESULT, SETTINGS_FIELDS, STATUS, TENANT } from './changes.js';
import {
  BOOLEAN,
  COUNT,
  type Codec,
  filled,
  layout,
  listOf,
  made,
  madeOf,
  mapOf,
  maybe,
  NAME,
  NUMBER,
  OPTIONAL,
  type Part,
  part,
  pick,
  Sink,
  Source,
  setOf,
  TEXT,
} from './codec.js';

const RECORD_VERSION = 1;
const KINDS = ['shard', 'resource', 'tenant', 'group'] as const;
type Kind = (typeof KINDS)[number];

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
export function packRecord(
  bytes: ByteWriter,
  state: EngineState,
  record: Recorded,
  seq: number,
): StoredRecord {
  const [kind, key] = nameOf(record);
  bytes.begin(RECORD_VERSION);
  bytes.count(seq);
  bytes.byte(KINDS.indexOf(kind));
  RECORDS[kind].write(new Sink(bytes, { atUs: 0, epoch: state.shard.epoch }), record);
  return { key, bytes: bytes.finish() };
}

function nameOf(record: Recorded): [Kind, string] {
  if (record instanceof Group) return ['group', `g:${record.id}`];
  if (record instanceof Tenant) return ['tenant', `t:${record.id}`];
  if (record instanceof Resource) return ['resource', `r:${record.name}`];
  return ['shard', 's'];
}

/**
 * Adds stored records to an empty state. A group is read after its tenant, and tenants after the resources.
 * @throws FormatError if a record is damaged.
 */
export function unpackRecords(state: EngineState, records: readonly StoredRecord[]): void {
  const sources = records.flatMap(({ key, bytes }) => {
    if (key === SMOOTHING_KEY) return [];
    const from = new Source(new ByteReader(bytes, RECORD_VERSION), state, 0);
    const seq = from.bytes.count();
    return [{ from, seq, kind: pick(KINDS, from.bytes.byte()) }];
  });
  for (const wanted of KINDS)
    for (const { from, seq, kind } of sources) if (kind === wanted) RECORDS[kind].read(from).recordSeq = seq;
}

/** Reports whether a virtual time is worth storing. One without a start exists only in this owner. */
const counts = ({ stored, epoch }: VirtualTime, out: Sink): boolean => stored > 0 && epoch === out.head.epoch;

/** A virtual time, which counts in its epoch only. */
const VIRTUAL: Part<VirtualTime> = {
  write(out, time) {
    const isStored = counts(time, out);
    out.bytes.count(isStored ? time.epoch : 0);
    out.bytes.tag(isStored ? time.stored : 0);
  },
  fill({ bytes }, time) {
    time.epoch = bytes.count();
    time.stored = bytes.tag();
    time.live = time.stored;
  },
};
const LINE = part<FairLine>({ clock: VIRTUAL });
const SEAT = part<Seat>({ tag: VIRTUAL, clock: VIRTUAL });

/** A record may name a resource whose own record was never written: the name stands beside the number. */
const RESOURCE = madeOf(
  layout<Pick<Resource, 'number' | 'name'>>({ number: COUNT, name: TEXT }),
  ({ number, name }, { state }) => state.addResource(number, name),
);
const byResource = (a: { readonly resource: Resource }, b: { readonly resource: Resource }): number =>
  a.resource.number - b.resource.number;

const RATE = layout<Rate>({
  ...{ rps: NUMBER, burst: NUMBER, tatUs: NUMBER },
  costMax: made(({ state }) => state.config.limits.costMax),
});
const SCOPE_FIELDS = {
  ...{ weight: NUMBER, concurrency: OPTIONAL, rate: maybe(RATE) },
  ...{ pausedMs: OPTIONAL, quietFromMs: NUMBER, fullUs: NUMBER },
};

const KNOWN_SHARD = made(({ state }) => state.shard);
const SHARD = part<Shard>({
  ...SCOPE_FIELDS,
  ...{ free: LINE, epoch: COUNT, nextNumber: COUNT, letters: COUNT },
  nonces: part<Nonces>({ byInstance: mapOf(TEXT, mapOf(COUNT, RESULT)) }),
});

const RESOURCE_BODY = part<Resource>({ ...SCOPE_FIELDS, line: LINE, starts: COUNT, throttles: COUNT });

const TENANT_BODY = part<Tenant>({
  ...SCOPE_FIELDS,
  ...{ minShare: NUMBER, isConfigured: BOOLEAN, served: NUMBER, free: SEAT },
});
const SEATS: Part<Tenant> = {
  write(out, { seats }) {
    const stored = [...seats.values()].filter(({ tag, clock }) => counts(tag, out) || counts(clock, out));
    const named = stored.map((seat) => ({ seat, resource: seat.line.resource as Resource }));
    out.bytes.count(named.length);
    for (const { resource, seat } of named.sort(byResource)) {
      RESOURCE.write(out, resource);
      SEAT.write(out, seat);
    }
  },
  fill(from, tenant) {
    for (let left = from.bytes.count(); left > 0; left--) SEAT.fill(from, tenant.seatAt(RESOURCE.read(from)));
  },
};
const NEW_TENANT = madeOf(
  layout<Pick<Tenant, 'number' | 'id'>>({ number: COUNT, id: TEXT }),
  ({ number, id }, { state }) => state.addTenant(number, id),
);

const AWAY_TAGS = listOf(
  layout<Omit<AwayTag, 'next'>>({ resource: RESOURCE, tag: filled(made(newTime), VIRTUAL) }),
);
const AWAY: Codec<AwayTag | undefined> = {
  write(out, first) {
    const tags: AwayTag[] = [];
    for (let away = first; away; away = away.next) if (counts(away.tag, out)) tags.push(away);
    AWAY_TAGS.write(out, tags.sort(byResource));
  },
  read: (from) =>
    AWAY_TAGS.read(from).reduce<AwayTag | undefined>((next, away) => ({ ...away, next }), undefined),
};

const QUEUE = part<Queue>({ next: COUNT, tail: COUNT, late: listOf(COUNT) });
const QUEUES: Part<Group> = {
  write(out, group) {
    const queues = group.queues.filter((queue) => queue !== undefined);
    out.bytes.count(queues.length);
    for (const queue of queues) {
      out.bytes.count(queue.priority);
      QUEUE.write(out, queue);
    }
  },
  fill(from, group) {
    for (let left = from.bytes.count(); left > 0; left--) QUEUE.fill(from, group.queueOf(from.bytes.count()));
  },
};

const OUTCOMES = layout<ChunkOutcomes>({
  ended: COUNT,
  bits: {
    write({ bytes }, bits) {
      for (const byte of bits) bytes.byte(byte);
    },
    read: ({ bytes }) => Uint8Array.from({ length: 16 }, () => bytes.byte()),
  },
  facts: made(() => []),
  codes: made(() => undefined),
});

const SUMS = { count: NUMBER, sum: NUMBER, min: NUMBER, max: NUMBER };
/** What its jobs left behind. */
export const KEPT = maybe(
  filled(
    made(() => new Kept()),
    part<Kept>({
      ...{ results: COUNT, resultsFrom: COUNT, resultBytes: COUNT, resultsDropped: COUNT },
      ...{ details: COUNT, letters: COUNT, aggregators: listOf(TEXT) },
      numbers: mapOf(TEXT, layout<NumberSums>(SUMS)),
      ...{ redriven: setOf(COUNT), owed: setOf(COUNT), aggregation: maybe(layout(AGGREGATION_FIELDS)) },
    }),
  ),
);

const GROUP = part<Group>({
  ...SETTINGS_FIELDS,
  ...SCOPE_FIELDS,
  ...{ isSealed: BOOLEAN, status: STATUS, code: NAME, round: COUNT },
  ...{ startedMs: OPTIONAL, endedMs: OPTIONAL, progressMs: COUNT },
  ...{ registered: NUMBER, success: NUMBER, failed: NUMBER, cancelled: NUMBER, late: NUMBER },
  ...{
    throttled: NUMBER,
    rateDenied: NUMBER,
    lastBackoffMs: NUMBER,
    codes: maybe<Map<string, number>>(mapOf(TEXT, COUNT)),
  },
  durations: part<Histogram>({ ...SUMS, buckets: listOf(NUMBER) }),
  ...{ tag: VIRTUAL, away: AWAY },
  ...{ outcomes: mapOf(COUNT, OUTCOMES), skipped: setOf(COUNT), kept: KEPT },
});
const NEW_GROUP = madeOf(
  layout<Pick<Group, 'number' | 'id' | 'tenant' | 'createdMs'>>({
    ...{ number: COUNT, id: TEXT, tenant: TENANT, createdMs: COUNT },
  }),
  ({ number, id, tenant, createdMs }, { state }) => state.addGroup(number, id, tenant, createdMs),
);

/** What a turn was charged, and whether it was in the line of the resource. */
const TURN: Part<Job> = {
  write(out, { turn }) {
    BOOLEAN.write(out, turn?.seat.line.resource !== undefined);
    out.bytes.number(turn?.charge ?? 0);
  },
  fill(from, job) {
    const { tenant } = job.group;
    const seat = BOOLEAN.read(from) && job.resource ? tenant.seatAt(job.resource) : tenant.free;
    const tags = { groupStart: 0, seatStart: 0, freeStart: 0, isMinimum: false };
    job.turn = { seat, charge: from.bytes.number(), ...tags };
  },
};
const ATTEMPTS = { attempt: COUNT, retryCount: COUNT, orphanCount: COUNT };

/** Jobs that are not in a queue. */
const jobsOf = (
  jobs: (group: Group) => readonly Job[],
  add: (group: Group, job: Job) => void,
  ...parts: readonly Part<Job>[]
): Part<Group> => ({
  write(out, group) {
    const all = jobs(group);
    out.bytes.count(all.length);
    for (const job of all) {
      out.bytes.count(job.position);
      for (const { write } of parts) write(out, job);
    }
  },
  fill(from, group) {
    for (let left = from.bytes.count(); left > 0; left--) {
      const job = new Job(group, from.bytes.count());
      for (const { fill } of parts) fill(from, job);
      add(group, job);
    }
  },
});
const IN_FLIGHT = jobsOf(
  ({ inFlight }) => (inFlight.size > 0 ? [...inFlight.values()] : []),
  ({ inFlight }, job) => inFlight.set(job.position, Object.assign(job, { place: 'IN_FLIGHT' })),
  part<Job>({ ...ATTEMPTS, instanceId: TEXT, startedUs: COUNT, cost: COUNT, resource: maybe(RESOURCE) }),
  TURN,
);
const FRONT = jobsOf(
  ({ ready, front }) => [...ready.filter((job) => job.isFromFront), ...front],
  ({ front }, job) => front.push(job),
  part<Job>(ATTEMPTS),
);
const DELAYED = jobsOf(
  ({ delayed }) => (delayed.size > 0 ? [...delayed.values()] : []),
  ({ delayed }, job) => delayed.set(job.position, Object.assign(job, { place: 'DELAYED' })),
  part<Job>({ ...ATTEMPTS, dueMs: COUNT, reason: REASON }),
);

const RECORDS: Readonly<Record<Kind, Codec<Recorded>>> = {
  shard: filled(KNOWN_SHARD, SHARD),
  resource: filled(RESOURCE, RESOURCE_BODY),
  tenant: filled(NEW_TENANT, TENANT_BODY, SEATS),
  group: filled(NEW_GROUP, GROUP, QUEUES, IN_FLIGHT, FRONT, DELAYED),
};
