import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BulkStore, GroupView } from '@millrace/bulk-action';
import { seededRng } from '@millrace/foundation';
import type { LedgerEntry, LedgerNote } from '@millrace/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import {
  checkAddedUpOnce,
  checkCancelled,
  checkKilledAtEveryStep,
  checkNothingRepaired,
} from '../src/bulk/check-steps.js';
import type { Evidence } from '../src/bulk/evidence.js';
import { steppedStore } from '../src/bulk/stepped-store.js';
import {
  drawDeaths,
  dueDeaths,
  endFaults,
  Killer,
  type PlannedDeath,
  STEPS,
  undied,
} from '../src/bulk/steps.js';

const entry = (kind: string, fields: object = {}, pid = 7): LedgerEntry => ({
  kind,
  at: 1,
  pid,
  seq: 1,
  ...fields,
});

describe('deaths at named steps', () => {
  const folders: string[] = [];
  const briefOf = (deaths: readonly PlannedDeath[]) => {
    const marks = mkdtempSync(join(tmpdir(), 'millrace-marks-'));
    folders.push(marks);
    return { deaths, marks };
  };
  const killerOf = (brief: ReturnType<typeof briefOf>) => {
    const told: string[] = [];
    let deaths = 0;
    const append = (note: LedgerNote) => {
      told.push(String(note.step));
      return entry(note.kind);
    };
    const ledger = { append, close() {}, [Symbol.dispose]() {} };
    const { at } = new Killer(brief, ledger, () => void deaths++);
    return { at, told, deaths: () => deaths };
  };
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it('are drawn by the seed, each step once, all of them when so many are asked for', () => {
    const all = drawDeaths(seededRng(1), STEPS.length);
    expect(new Set(all.map(({ step }) => step))).toEqual(new Set(STEPS));
    expect(drawDeaths(seededRng(1), 4)).toEqual(drawDeaths(seededRng(1), 4));
    expect(drawDeaths(seededRng(1), 4)).not.toEqual(drawDeaths(seededRng(2), 4));
  });

  it('come the n-th time, to one process only, the ledger told before', () => {
    const brief = briefOf([{ step: 'after reserve', nth: 2 }]);
    const [one, other] = [killerOf(brief), killerOf(brief)];
    one.at('after reserve');
    one.at('before settle retry');
    expect(one.deaths()).toBe(0);
    one.at('after reserve');
    expect(one.deaths()).toBe(1);
    expect(one.told).toEqual(['after reserve']);
    other.at('after reserve');
    other.at('after reserve');
    expect(other.deaths()).toBe(0);
    expect(undied(brief)).toEqual([]);
  });

  it('are due three at a time in their order, and none when the faults are over', () => {
    const brief = briefOf(STEPS.slice(0, 5).map((step) => ({ step, nth: 1 })));
    const killer = killerOf(brief);
    killer.at(STEPS[3] ?? 'before fetch');
    expect(killer.deaths()).toBe(0);
    killer.at(STEPS[1] ?? 'before fetch');
    expect(dueDeaths(brief).map(({ step }) => step)).toEqual([STEPS[0], STEPS[2], STEPS[3]]);
    endFaults(brief);
    killer.at(STEPS[0] ?? 'before fetch');
    expect(killer.deaths()).toBe(1);
    expect(readdirSync(brief.marks)).toHaveLength(2);
  });
});

describe('a stepped store', () => {
  it('says where it is: before a call, and after one that did something', async () => {
    const steps: string[] = [];
    const fetched = [{ ready: 0 }, { ready: 1 }];
    const store = {
      gate: { fetch: async () => fetched.shift() },
      leases: { settle: async () => ['answer'] },
    } as unknown as BulkStore;
    const stepped = steppedStore(store, (step) => steps.push(step));
    await stepped.gate.fetch(1);
    await stepped.gate.fetch(1);
    const outcomes = ['success', 'retry', 'success'].map((kind) => ({ outcome: { kind } }));
    expect(await stepped.leases.settle(outcomes as never)).toEqual(['answer']);
    expect(steps).toEqual([
      'before fetch',
      'before fetch',
      'after fetch',
      'before settle success',
      'before settle retry',
      'after settle success',
      'after settle retry',
    ]);
  });
});

describe('the checkers of deaths at steps', () => {
  const deaths: PlannedDeath[] = [
    { step: 'before fetch', nth: 1 },
    { step: 'after fetch', nth: 1 },
  ];
  const killed = (step: string, pid: number) => [
    entry('kills', { step }, pid),
    entry('died', { worker: pid }, 1),
  ];

  it('name a step that nobody came to, and one that somebody outlived', () => {
    const all = [...killed('before fetch', 7), ...killed('after fetch', 8)];
    expect(checkKilledAtEveryStep(all, deaths)).toMatchObject({ held: true });
    const missed = checkKilledAtEveryStep(killed('before fetch', 7), deaths);
    expect(missed).toMatchObject({
      held: false,
      evidence: expect.stringContaining('never reached: after fetch'),
    });
    const outlived = checkKilledAtEveryStep(all.slice(0, 3), deaths);
    expect(outlived).toMatchObject({
      held: false,
      evidence: expect.stringContaining('outlived: after fetch'),
    });
    expect(checkKilledAtEveryStep(all, [])).toMatchObject({ held: false });
  });

  it('see results added up twice, not at all, or by two runs', () => {
    const evidenceWith = (data: unknown) =>
      ({
        groups: [{ id: 'g', counts: { success: 2 } }],
        results: new Map([['g', { data }]]),
      }) as unknown as Evidence;
    const finished = (token: string) => entry('aggregated', { group: 'g', token, answer: 'done' });
    const good = evidenceWith({ results: 2, jobs: 2 });
    expect(checkAddedUpOnce(good, [finished('a'), finished('a')])).toMatchObject({ held: true });
    expect(checkAddedUpOnce(evidenceWith({ results: 3, jobs: 2 }), [])).toMatchObject({ held: false });
    expect(checkAddedUpOnce(evidenceWith(undefined), [])).toMatchObject({ held: false });
    expect(checkAddedUpOnce(good, [finished('a'), finished('b')])).toMatchObject({ held: false });
  });

  it('see a repair, and a cancelled group that goes on or has lost a job', () => {
    expect(checkNothingRepaired([])).toMatchObject({ held: true });
    expect(checkNothingRepaired([entry('repaired', { groups: 1 })])).toMatchObject({ held: false });
    const counts = { registered: 3, success: 1, failed: 0, cancelled: 2, pending: 0, inFlight: 0 };
    const group = (status: string, changes: object = {}) =>
      ({ id: 'c', status, counts: { ...counts, ...changes } }) as unknown as GroupView;
    expect(checkCancelled([group('CANCELLED')])).toMatchObject({ held: true });
    expect(checkCancelled([group('COMPLETED')])).toMatchObject({ held: false });
    expect(checkCancelled([group('CANCELLED', { cancelled: 1 })])).toMatchObject({ held: false });
    expect(checkCancelled([group('CANCELLED', { inFlight: 1 })])).toMatchObject({ held: false });
  });
});
