import { describe, expect, it } from 'vitest';
import { GroupsByArrival } from '../../src/memory/groups-by-arrival.js';
import type { GroupRecord } from '../../src/memory/records.js';

const group = (seq: number) => ({ seq }) as GroupRecord;

/** Numbers between them belong to jobs. */
const everyTenth = (count: number) => Array.from({ length: count }, (_, at) => group((at + 1) * 10));
const seqsFrom = (groups: GroupsByArrival, seq: number) => [...groups.downFrom(seq)].map((one) => one.seq);

describe('GroupsByArrival', () => {
  it('goes from group to group, from any number down', () => {
    const groups = new GroupsByArrival();
    for (const one of everyTenth(3)) groups.add(one);
    expect(seqsFrom(groups, 1_000_000)).toEqual([30, 20, 10]);
    expect(seqsFrom(groups, 29)).toEqual([20, 10]);
    expect(seqsFrom(groups, 20)).toEqual([20, 10]);
    expect(seqsFrom(groups, 9)).toEqual([]);
  });

  it('knows groups by their number, and nothing by others', () => {
    const groups = new GroupsByArrival();
    const all = everyTenth(3);
    for (const one of all) groups.add(one);
    expect(all.map(({ seq }) => groups.get(seq))).toEqual(all);
    expect([0, 11, 31].map((seq) => groups.get(seq))).toEqual([undefined, undefined, undefined]);
  });

  it('forgets what is removed, however much, and keeps the order of the others', () => {
    const groups = new GroupsByArrival();
    const all = everyTenth(500);
    for (const one of all) groups.add(one);
    for (const one of all) if (one.seq % 100 !== 0) groups.remove(one);
    groups.remove(group(100));
    const left = all.filter(({ seq }) => seq % 100 === 0);
    expect(seqsFrom(groups, 5_000)).toEqual(left.map(({ seq }) => seq).reverse());
    expect(groups.get(110)).toBeUndefined();
    expect(groups.get(200)).toBe(left[1]);
    groups.add(group(5_010));
    expect(seqsFrom(groups, 6_000).slice(0, 2)).toEqual([5_010, 5_000]);
  });
});
