import type { ResourcePoint } from '../../../congestion-stats.js';
import { type CongestionState, newCongestion } from '../../../rules/congestion.js';
import { type RateWindow, ratePerSecond, WINDOW_MS } from '../../../rules/rate-window.js';
import { newVegas, type VegasState } from '../../../rules/vegas.js';
import type { History } from '../state/history.js';
import { type Group, Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { ByteReader, type ByteWriter } from './bytes.js';
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

const CONGESTION = Object.keys(newCongestion()) as (keyof CongestionState)[];
const VEGAS = Object.keys(newVegas()) as (keyof VegasState)[];

/** Writes learnt rates, windows and histories. */
export function packSmoothing(out: ByteWriter, state: EngineState): StoredRecord {
  out.begin(SMOOTHING_VERSION);
  out.count(state.resources.size);
  for (const resource of state.resources.values()) packResource(out, resource);
  const slowed = [...state.slowed].slice(0, GROUPS_MAX);
  out.count(slowed.length);
  for (const group of slowed) packSlowness(out, state, group);
  out.number(ratePerSecond(state.starts, state.nowMs));
  const served = [...state.tenants.values()]
    .map(({ id, servedWindow }) => ({ id, rate: ratePerSecond(servedWindow, state.nowMs) }))
    .filter(({ rate }) => rate > 0)
    .slice(0, TENANTS_MAX);
  out.count(served.length);
  for (const { id, rate } of served) {
    out.text(id);
    out.number(rate);
  }
  return { key: SMOOTHING_KEY, bytes: out.finish() };
}

/** Takes over what the owner before had learnt. @throws FormatError if it is damaged. */
export function unpackSmoothing(state: EngineState, bytes: Uint8Array): void {
  const from = new ByteReader(bytes, SMOOTHING_VERSION);
  for (let left = from.count(); left > 0; left--) unpackResource(state, from);
  for (let left = from.count(); left > 0; left--) unpackSlowness(state, from);
  beginWindow(state.starts, state.nowMs, from.number());
  for (let left = from.count(); left > 0; left--) {
    const tenant = state.tenants.get(from.text());
    const rate = from.number();
    if (tenant) beginWindow(tenant.servedWindow, state.nowMs, rate);
  }
}

function packResource(out: ByteWriter, resource: Resource): void {
  out.text(resource.name);
  for (const name of CONGESTION) out.number(resource.congestion[name]);
  out.count(resource.flips);
  out.byte(resource.vegas ? 1 : 0);
  if (resource.vegas) for (const name of VEGAS) out.number(resource.vegas[name]);
  packHistory(out, resource.history);
}

function unpackResource(state: EngineState, from: ByteReader): void {
  const name = from.text();
  const resource = state.resources.get(name) ?? new Resource(0, name, {});
  unpackCongestion(resource.congestion, state.nowMs, from);
  resource.flips = from.count();
  if (from.byte() === 1) {
    const vegas = resource.vegas ?? newVegas();
    for (const field of VEGAS) vegas[field] = from.number();
  }
  unpackHistory(resource.history, from);
}

/**
 * Reads a rate. What was accepted in the last second before it was stored counts as that of the second before now: else the next
 * refusal would cut the rate to what was accepted since the takeover (87.9 % of the ideal with an owner every 7 s, 97.8 % since).
 */
function unpackCongestion(congestion: CongestionState, nowMs: number, from: ByteReader): void {
  for (const name of CONGESTION) congestion[name] = from.number();
  congestion.slotMs = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
}

/** Limits are stored in tenths, and 0 for none. */
const coded = (limit: number | null, parts: number): number =>
  limit === null ? 0 : 1 + Math.round(limit * parts);
const decoded = (code: number, parts: number): number | null => (code === 0 ? null : (code - 1) / parts);

function packHistory(out: ByteWriter, { points, pointThrottles }: History<ResourcePoint>): void {
  out.count(pointThrottles);
  out.count(points.length);
  let before = 0;
  for (const { at, rate, limit, concurrency, throttles } of points) {
    out.integer(at - before);
    out.count(Math.round(rate * 10));
    out.count(coded(limit, 10));
    out.count(coded(concurrency, 1));
    out.count(throttles);
    before = at;
  }
}

function unpackHistory(history: History<ResourcePoint>, from: ByteReader): void {
  const pointThrottles = from.count();
  let at = 0;
  for (let left = from.count(); left > 0; left--) {
    at += from.integer();
    const rate = from.count() / 10;
    const limit = decoded(from.count(), 10);
    const concurrency = decoded(from.count(), 1);
    history.add({ at, rate, limit, concurrency, throttles: from.count() });
  }
  history.pointThrottles = pointThrottles;
}

function packSlowness(out: ByteWriter, state: EngineState, { id, slow, settledWindow }: Group): void {
  const { resource, flips, congestion } = slow as NonNullable<Group['slow']>;
  out.text(id);
  out.text(resource.name);
  out.count(flips);
  for (const name of CONGESTION) out.number(congestion[name]);
  out.number(ratePerSecond(settledWindow, state.nowMs));
}

function unpackSlowness(state: EngineState, from: ByteReader): void {
  const group = state.groups.get(from.text());
  const resource = state.resources.get(from.text());
  const flips = from.count();
  const congestion = newCongestion();
  unpackCongestion(congestion, state.nowMs, from);
  const rate = from.number();
  if (!group || !resource) return;
  group.slow = { resource, flips, congestion, rate: undefined, frozenUntilMs: 0 };
  state.slowed.add(group);
  beginWindow(group.settledWindow, state.nowMs, rate);
}

/** A window that goes on at this rate. */
function beginWindow(window: RateWindow, nowMs: number, rate: number): void {
  window.at = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
  window.previous = (rate * WINDOW_MS) / 1000;
  window.current = 0;
  window.first = window.at - WINDOW_MS;
}
