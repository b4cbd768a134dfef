import type { ResponseOf } from '@millrace/contract/server-client';
import { shareTone, wants } from './shares.js';

/** A tenant with its share, as the server tells it. */
export type TenantShare = ResponseOf<'getFairness'>['tenants'][number];

/** What somebody got at one time. */
export interface TrailPoint {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly share: number;
  readonly fairShare: number;
  /** Whether it wanted more than it got. */
  readonly waits: boolean;
}

/** A tenant that was told of since the page was opened. */
export interface SeenTenant extends TenantShare {
  readonly toldAt: number;
  /** Oldest first, of the last minute. */
  readonly trail: readonly TrailPoint[];
}

/** So far back goes the trail; who was not told of for so long is left out. */
export const TRAIL_MS = 60_000;
/** Shares are an average of seconds: who has just begun to want something has not got less than others. */
const SHORT_FOR_MS = 8_000;
/** More are more than anybody looks through; those who want nothing go first. */
export const SEEN_MAX = 500;

/**
 * Everybody who was told of in the last minute, each in the place where it was first seen: bars that change their places every
 * second cannot be read, and the server tells only of those who want something or got something just now.
 * @param at - milliseconds since 1970.
 */
export function seenTenants(
  before: readonly SeenTenant[],
  told: readonly TenantShare[],
  at: number,
): readonly SeenTenant[] {
  const now = new Map(told.map((tenant) => [tenant.id, tenant]));
  const known = new Set(before.map(({ id }) => id));
  const kept = before
    .filter(({ id, toldAt }) => now.has(id) || toldAt > at - TRAIL_MS)
    .map((seen) => nextOf(seen, now.get(seen.id), at));
  const fresh = told
    .filter(({ id }) => !known.has(id))
    .toSorted(byPlace)
    .map((tenant) => nextOf({ ...tenant, toldAt: at, trail: [] }, tenant, at));
  const all = [...kept, ...fresh];
  return all.length <= SEEN_MAX ? all : all.filter(({ toldAt }) => toldAt === at).slice(0, SEEN_MAX);
}

const NOTHING_NOW = { pending: 0, inFlight: 0, servedPerSecond: 0, share: 0, fairShare: 0 };

function nextOf(seen: SeenTenant, told: TenantShare | undefined, at: number): SeenTenant {
  const { share, fairShare, pending } = told ?? NOTHING_NOW;
  const trail = seen.trail.filter((point) => point.at > at - TRAIL_MS && point.at < at);
  return {
    ...seen,
    ...(told ?? NOTHING_NOW),
    toldAt: told ? at : seen.toldAt,
    trail: [...trail, { at, share, fairShare, waits: pending > 0 }],
  };
}

/** Those who want something first, the heavy before the light, then by name. */
const byPlace = (one: TenantShare, other: TenantShare): number =>
  Number(wants(other)) - Number(wants(one)) ||
  other.weight - one.weight ||
  one.id.localeCompare(other.id, 'en', { numeric: true });

/**
 * Whether somebody has got clearly less than what is theirs for some seconds, though they wanted it all the time.
 */
export function isShort({ trail }: Pick<SeenTenant, 'trail'>): boolean {
  const last = trail.at(-1);
  if (!last || (trail[0]?.at ?? last.at) > last.at - SHORT_FOR_MS) return false;
  return trail
    .filter(({ at }) => at >= last.at - SHORT_FOR_MS)
    .every(({ share, fairShare, waits }) => waits && shareTone(share, fairShare) === 'hold');
}

const SCALES = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1] as const;

/** Whoever is alone for a moment has everything: the others are drawn small for so long. */
const SCALE_OF_MS = 10_000;

/**
 * Where the bars of all end: one of few lengths that holds for some seconds, so that a share that moves does not move all other bars.
 */
export function shareScale(all: readonly Pick<SeenTenant, 'trail'>[]): number {
  let longest = 0;
  for (const { trail } of all) {
    const from = (trail.at(-1)?.at ?? 0) - SCALE_OF_MS;
    for (const { at, share, fairShare } of trail)
      if (at >= from) longest = Math.max(longest, share, fairShare);
  }
  return scaleOf(longest);
}

/**
 * The length of the bars of all, where the longest of them is this long.
 * @param longest - share, 0 to 1.
 */
export const scaleOf = (longest: number): number => SCALES.find((scale) => scale >= longest) ?? 1;
