import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LedgerEntry, openLedger } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { FollowedGroup } from '../src/soak/callers.js';
import { checkSoakLoss, checkSoakTotals } from '../src/soak/check-groups.js';
import { checkMemory, checkThroughput, linesOf } from '../src/soak/check-samples.js';
import { flatness, lastThirdRatio, median, slopePerHour } from '../src/soak/flatness.js';
import { LedgerTail } from '../src/soak/ledger-tail.js';
import { paymentOf, sumsOf } from '../src/soak/payments.js';
import { drawPlot } from '../src/soak/plot.js';
import type { Sample } from '../src/soak/samples.js';
import { soakScale } from '../src/soak/settings.js';

const HOUR_MS = 3_600_000;
const MB = 1024 * 1024;
const line = (count: number, value: (n: number) => number) =>
  Array.from({ length: count }, (_, n) => ({ atMs: n * 3000, value: value(n) }));

describe('what is flat', () => {
  it('takes the middle of values, of an even number the mean of two', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('measures growth per hour, whatever a third of the values do', () => {
    const growing = line(100, (n) => 50 + (n * 3000 * 12) / HOUR_MS);
    expect(slopePerHour(growing)).toBeCloseTo(12);
    expect(slopePerHour(growing.map((point, n) => (n % 4 ? point : { ...point, value: 900 })))).toBeCloseTo(
      12,
      0,
    );
    expect(slopePerHour([{ atMs: 0, value: 1 }])).toBe(0);
    expect(slopePerHour(line(3000, (n) => n))).toBeCloseTo(HOUR_MS / 3000);
  });

  it('calls a line flat that warms up and levels off, not one that climbs or ends high', () => {
    const judge = (count: number, value: (n: number) => number) =>
      flatness(line(count, value), { perHourMax: 20, endRatioMax: 1.15 });
    expect(judge(300, (n) => 100 + Math.min(n, 60) + (n % 5))?.held).toBe(true);
    expect(judge(300, (n) => 100 + n * 0.1)?.held).toBe(false);
    expect(judge(300, (n) => (n < 260 ? 100 : 150))).toMatchObject({ held: false, endRatio: 1.5 });
    expect(judge(5, () => 1)).toBeUndefined();
  });

  it('compares the last third of rates with the second', () => {
    expect(lastThirdRatio(line(90, (n) => (n < 30 ? 1 : n < 60 ? 100 : 50)))).toBe(0.5);
  });
});

const sample = (n: number, change: Partial<Sample> = {}): Sample => ({
  atMs: n * 9000,
  rss: { 'api-0:1': 100 * MB, 'api-1:2': 90 * MB, 'worker-2:3': 80 * MB, 'worker-3:4': 80 * MB },
  redisBytes: 5 * MB,
  redisClients: 20,
  databaseBytes: 9 * MB,
  databaseClients: 30,
  begun: n * 600,
  paid: n * 90,
  ...change,
});
const FULL = soakScale(1);
const samples = (change: (n: number) => Partial<Sample> = () => ({})) =>
  Array.from({ length: 200 }, (_, n) => sample(n, change(n)));

describe('the checkers of soak: what was sampled', () => {
  it('hold for a run in which nothing grows, and say that a short one is too short', () => {
    expect(checkMemory(samples(), FULL)).toMatchObject({ held: true });
    expect(checkThroughput(samples(), FULL)).toMatchObject({ held: true });
    expect(checkMemory(samples().slice(0, 3), soakScale(0.05)).evidence).toContain('too short');
    expect(checkMemory([], soakScale(0.05)).held).toBe(false);
    expect(checkThroughput([sample(0), sample(1, { paid: 0 })], soakScale(0.05)).held).toBe(false);
  });

  it('see a process and a Redis that grow; a process that was replaced begins anew', () => {
    const leaking = samples((n) => ({ rss: { ...sample(n).rss, 'worker-3:4': (80 + n * 0.5) * MB } }));
    expect(checkMemory(leaking, FULL).held).toBe(false);
    const filling = samples((n) => ({ redisBytes: (5 + n * 0.05) * MB }));
    expect(checkMemory(filling, FULL).held).toBe(false);
    const replaced = samples((n) => ({
      rss: { 'api-0:1': 100 * MB, 'worker-3:4': 80 * MB, [`worker-2:${n >> 4}`]: (60 + (n % 16)) * MB },
    }));
    expect(linesOf(replaced).size).toBe(2 + 13);
    expect(checkMemory(replaced, FULL).held).toBe(true);
  });

  it('want a worker among those that live long', () => {
    const young = samples((n) => ({ rss: { 'api-0:1': 100 * MB, [`worker-2:${n >> 4}`]: 60 * MB } }));
    expect(checkMemory(young, FULL).held).toBe(false);
  });

  it('see that less is done in the end, of all work or of our own', () => {
    const slower = (n: number) => (n < 140 ? n : 140 + (n - 140) / 2);
    const ofAll = samples((n) => ({ begun: slower(n) * 600 }));
    const ofOurs = samples((n) => ({ paid: slower(n) * 90 }));
    for (const seen of [ofAll, ofOurs]) expect(checkThroughput(seen, FULL).held).toBe(false);
  });
});

let seq = 0;
const entry = (kind: string, n: number): LedgerEntry => ({
  at: seq,
  pid: 1,
  seq: seq++,
  kind,
  group: 'soak-0/group-0',
  n,
});
const JOBS = 20;
const expected = sumsOf(Array.from({ length: JOBS }, (_, n) => n));
const told = { status: 'COMPLETED', ...expected, reduced: expected.cents };
const group = (result?: FollowedGroup['result']): FollowedGroup => ({
  id: 'soak-0/group-0',
  jobs: JOBS,
  result,
});
const ledger = Array.from({ length: JOBS }, (_, n) => [
  entry('paying', n),
  entry(paymentOf(n).refused ? 'refused' : 'paid', n),
]).flat();

describe('the checkers of soak: our own groups', () => {
  it('hold for a group that was paid; what was paid twice counts once', () => {
    for (const check of [checkSoakLoss, checkSoakTotals]) {
      expect(check({ groups: [group(told)], ledger })).toMatchObject({ held: true });
      expect(check({ groups: [group(told)], ledger: [...ledger, entry('paid', 3)] }).held).toBe(true);
      expect(check({ groups: [], ledger }).held).toBe(false);
    }
  });

  it('see a group without a result, a failed one, and a job that was never done', () => {
    expect(checkSoakLoss({ groups: [group()], ledger }).held).toBe(false);
    expect(checkSoakLoss({ groups: [group({ ...told, status: 'FAILED' })], ledger }).held).toBe(false);
    expect(checkSoakLoss({ groups: [group(told)], ledger: ledger.slice(2) }).held).toBe(false);
  });

  it('see a job that was counted twice, at once or in the end, or not at all', () => {
    const wrong = [
      { ...told, success: told.success + 1 },
      { ...told, cents: told.cents + 1 },
      { ...told, reduced: told.reduced - 1 },
    ];
    for (const result of wrong) expect(checkSoakTotals({ groups: [group(result)], ledger }).held).toBe(false);
  });
});

describe('what soak leaves and reads', () => {
  it('counts what is new in a ledger, whole lines only', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-tail-'));
    const written = openLedger(join(folder, 'ledger'));
    const tail = new LedgerTail(join(folder, 'ledger'), ['paid', 'refused']);
    expect(tail.count()).toBe(0);
    written.append({ kind: 'paying', note: 'paid' });
    written.append({ kind: 'paid', name: 'Zoë' });
    expect(tail.count()).toBe(1);
    for (let n = 0; n < 2000; n++) written.append({ kind: 'refused', n });
    expect(tail.count()).toBe(2001);
    tail.close();
    written.close();
    rmSync(folder, { recursive: true });
  });

  it('draws every line of every panel, names as text', () => {
    const picture = drawPlot('a <soak>', [
      { title: 'memory', lines: [{ name: 'api-0', points: line(3, (n) => n) }] },
      { title: 'stores', lines: [{ name: 'R & P', points: line(3, () => Number.NaN) }] },
    ]);
    expect(picture.match(/<path /g)).toHaveLength(2);
    expect(picture).toContain('a &#60;soak&#62;');
    expect(picture).toContain('R &#38; P');
    expect(picture).not.toContain('NaN');
  });
});
