import type { ResourcePoint } from '../../../congestion-stats.js';
import { type CongestionState, newCongestion } from '../../../rules/congestion.js';
import { type RateWindow, ratePerSecond, WINDOW_MS } from '../../../rules/rate-window.js';
import { newVegas, type VegasState } from '../../../rules/vegas.js';
import type { History } from '../state/history.js';
import { type Group, Resource, type Slowness } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { ByteReader, type ByteWriter } from './bytes.js';
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
  NUMBER,
  OPTIONAL,
  type Part,
  part,
  Sink,
  Source,
  TAG,
  TEXT,
} from './codec.js';
import { SMOOTHING_KEY, type StoredRecord } from './record.js';

/*
 * What the owner has learnt and counted: rates and histories of resources, groups that are slowed alone, and windows of served
 * jobs. No note has it. It is stored as a whole while it changes, so that a new owner does not begin at zero; it may be 5 s old.
 * It names everything by its id, and what it names may be gone: after a loss of writes a number may name something else.
 */

const SMOOTHING_VERSION = 1;
/** Slowed groups and served tenants that are stored. */
const GROUPS_MAX = 1_000;
const TENANTS_MAX = 1_000;
/** Accepted calls are counted in slots of this length. */
const SLOT_MS = 250;

/** All fields of an object of numbers. */
const numbersOf = <T extends object>(model: T): Part<T> =>
  part<T>(Object.fromEntries(Object.keys(model).map((name) => [name, NUMBER])) as never);
const LEARNT = numbersOf<CongestionState>(newCongestion());
const VEGAS = numbersOf<VegasState>(newVegas());

/**
 * A rate. What was accepted in the last second before it was stored counts as that of the second before now: else the next
 * refusal would cut the rate to what was accepted since the takeover (87.9 % of the ideal with an owner every 7 s, 97.8 % since).
 */
const CONGESTION: Part<CongestionState> = {
  write: LEARNT.write,
  fill(from, congestion) {
    LEARNT.fill(from, congestion);
    congestion.slotMs = Math.floor(from.state.nowMs / SLOT_MS) * SLOT_MS;
  },
};

/** Limits are stored in parts of 1, and 0 for none. */
const limitIn = (parts: number): Codec<number | null> => ({
  write: (out, limit) => out.bytes.count(limit === null ? 0 : 1 + Math.round(limit * parts)),
  read(from) {
    const code = from.bytes.count();
    return code === 0 ? null : (code - 1) / parts;
  },
});
const TENTHS: Codec<number> = {
  write: (out, value) => out.bytes.count(Math.round(value * 10)),
  read: (from) => from.bytes.count() / 10,
};
const POINT = layout<ResourcePoint>({
  ...{ at: TAG, rate: TENTHS, limit: limitIn(10), concurrency: limitIn(1), throttles: COUNT },
});

const RESOURCE = filled<Resource>(
  madeOf(
    layout<Pick<Resource, 'name'>>({ name: TEXT }),
    ({ name }, { state }) => state.resources.get(name) ?? new Resource(0, name, {}),
  ),
  part<Resource>({
    ...{ congestion: CONGESTION, flips: COUNT },
    vegas: {
      write(out, vegas) {
        BOOLEAN.write(out, vegas !== undefined);
        if (vegas) VEGAS.write(out, vegas);
      },
      fill(from, vegas = newVegas()) {
        if (BOOLEAN.read(from)) VEGAS.fill(from, vegas);
      },
    },
    history: part<History<ResourcePoint>>({
      pointMs: OPTIONAL,
      pointThrottles: COUNT,
      points: listOf(POINT),
    }),
  }),
);

const SMOOTHING = layout({
  resources: listOf(RESOURCE),
  slowed: listOf(
    layout({
      ...{ id: TEXT, resource: TEXT, flips: COUNT, rate: NUMBER },
      congestion: filled(made(newCongestion), CONGESTION),
    }),
  ),
  starts: NUMBER,
  served: mapOf(TEXT, NUMBER),
});

/** Writes learnt rates, windows and histories. */
export function packSmoothing(bytes: ByteWriter, state: EngineState): StoredRecord {
  const { nowMs, shard } = state;
  const served = [...state.tenants.values()]
    .map(({ id, servedWindow }) => [id, ratePerSecond(servedWindow, nowMs)] as const)
    .filter(([, rate]) => rate > 0);
  const slowed = [...state.slowed].slice(0, GROUPS_MAX).map(({ id, slow, settledWindow }: Group) => {
    const { resource, flips, congestion } = slow as Slowness;
    return { id, resource: resource.name, flips, congestion, rate: ratePerSecond(settledWindow, nowMs) };
  });
  SMOOTHING.write(new Sink(bytes.begin(SMOOTHING_VERSION), { atUs: 0, epoch: shard.epoch }), {
    resources: [...state.resources.values()],
    slowed,
    starts: ratePerSecond(state.starts, nowMs),
    served: new Map(served.slice(0, TENANTS_MAX)),
  });
  return { key: SMOOTHING_KEY, bytes: bytes.finish() };
}

/** Takes over what the owner before had learnt. @throws FormatError if it is damaged. */
export function unpackSmoothing(state: EngineState, bytes: Uint8Array): void {
  const { nowMs } = state;
  const stored = SMOOTHING.read(new Source(new ByteReader(bytes, SMOOTHING_VERSION), state, 0));
  for (const { id, resource: name, flips, congestion, rate } of stored.slowed) {
    const group = state.groups.get(id);
    const resource = state.resources.get(name);
    if (!group || !resource) continue;
    group.slow = { resource, flips, congestion, rate: undefined, frozenUntilMs: 0 };
    state.slowed.add(group);
    beginWindow(group.settledWindow, nowMs, rate);
  }
  beginWindow(state.starts, nowMs, stored.starts);
  for (const [id, rate] of stored.served) {
    const tenant = state.tenants.get(id);
    if (tenant) beginWindow(tenant.servedWindow, nowMs, rate);
  }
}

/** A window that goes on at this rate. */
function beginWindow(window: RateWindow, nowMs: number, rate: number): void {
  window.at = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
  window.previous = (rate * WINDOW_MS) / 1000;
  window.current = 0;
  window.first = window.at - WINDOW_MS;
}
