import { describe, expect, it } from 'vitest';
import {
  isShort,
  SEEN_MAX,
  type SeenTenant,
  scaleOf,
  seenTenants,
  shareScale,
  type TenantShare,
  TRAIL_MS,
} from '../../src/rules/seen-tenants.js';

const tenant = (id: string, change: Partial<TenantShare> = {}): TenantShare => ({
  id,
  weight: 1,
  rps: null,
  burst: null,
  concurrency: null,
  groups: 1,
  pending: 5,
  inFlight: 1,
  served: 0,
  servedPerSecond: 1,
  share: 0.2,
  fairShare: 0.2,
  ...change,
});

/** What is seen after being told so, once a second. */
const after = (...told: readonly (readonly TenantShare[])[]): readonly SeenTenant[] =>
  told.reduce<readonly SeenTenant[]>((seen, now, second) => seenTenants(seen, now, second * 1_000), []);
const ids = (seen: readonly SeenTenant[]) => seen.map(({ id }) => id);

describe('seenTenants', () => {
  it('begins with those who want something, the heavy before the light, then by name', () => {
    const idle = { pending: 0, inFlight: 0 };
    const seen = after([tenant('z', idle), tenant('b-10'), tenant('b-2'), tenant('c', { weight: 2 })]);
    expect(ids(seen)).toEqual(['c', 'b-2', 'b-10', 'z']);
  });

  it('keeps everybody in place, whatever the order they are told in, and new ones come last', () => {
    const seen = after([tenant('b'), tenant('c')], [tenant('c', { weight: 9 }), tenant('a'), tenant('b')]);
    expect(ids(seen)).toEqual(['b', 'c', 'a']);
    expect(seen[1]).toMatchObject({ weight: 9 });
  });

  it('shows who is not told of as wanting nothing, for a minute', () => {
    const told = after([tenant('a'), tenant('b')]);
    const silent = seenTenants(told, [tenant('b')], 1_000);
    expect(silent[0]).toMatchObject({ id: 'a', share: 0, fairShare: 0, pending: 0, inFlight: 0, weight: 1 });
    expect(ids(seenTenants(silent, [tenant('b')], TRAIL_MS - 1))).toEqual(['a', 'b']);
    expect(ids(seenTenants(silent, [tenant('b')], TRAIL_MS))).toEqual(['b']);
  });

  it('remembers the shares of a minute and no more', () => {
    const seen = after(...Array.from({ length: 100 }, () => [tenant('a')]));
    expect(seen[0]?.trail).toHaveLength(60);
    expect(seen[0]?.trail.at(-1)?.at).toBe(99_000);
  });

  it('has a limit, beyond which those who want nothing go', () => {
    const many = (name: string) => Array.from({ length: SEEN_MAX - 1 }, (_, at) => tenant(`${name}-${at}`));
    const seen = after(many('old'), [tenant('new-1'), tenant('new-2')]);
    expect(ids(seen)).toEqual(['new-1', 'new-2']);
  });
});

describe('isShort', () => {
  const seconds = (count: number, change: Partial<TenantShare>) =>
    Array.from({ length: count }, () => [tenant('a', change)]);
  const judged = (...told: readonly (readonly TenantShare[])[]) => after(...told).map(isShort);

  it('is for those who get clearly less for seconds', () => {
    expect(judged(...seconds(9, { share: 0.1 }))).toEqual([true]);
    expect(judged(...seconds(8, { share: 0.1 }))).toEqual([false]);
    expect(judged(...seconds(9, { share: 0.16 }))).toEqual([false]);
  });

  it('is not for those who have just begun to want something, or do not', () => {
    expect(
      judged(...seconds(20, { pending: 0, fairShare: 0, share: 0 }), ...seconds(3, { share: 0 })),
    ).toEqual([false]);
    expect(judged(...seconds(9, { share: 0.1, pending: 0 }))).toEqual([false]);
  });
});

describe('shareScale', () => {
  it('is one of few lengths, of the last seconds', () => {
    expect(shareScale(after([tenant('a')]))).toBe(0.2);
    expect(shareScale(after([tenant('a', { share: 0.21 })], [tenant('a')]))).toBe(0.3);
    expect(
      shareScale(after([tenant('a', { share: 0.9 })], ...Array.from({ length: 11 }, () => [tenant('a')]))),
    ).toBe(0.2);
    expect(shareScale([])).toBe(0.02);
    expect(scaleOf(1)).toBe(1);
  });
});
