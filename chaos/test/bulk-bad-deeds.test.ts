import type { BulkStore, DeadLetter, GroupView, JobView, Settlement } from '@millrace/bulk-action';
import type { LedgerEntry, LedgerNote } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { BAD_DEEDS, badJob } from '../src/bulk/bad-deeds.js';
import {
  checkCodes,
  checkLetters,
  checkNeighbours,
  checkReplays,
  checkTwiceTold,
} from '../src/bulk/check-bad-deeds.js';
import { checkTotals } from '../src/bulk/check-totals.js';
import type { Evidence } from '../src/bulk/evidence.js';
import { planJob } from '../src/bulk/plan.js';
import { IMPATIENT_RETRIES, MAX_RETRIES } from '../src/bulk/settings.js';
import { twiceToldStore } from '../src/bulk/twice-told.js';

const kinds = Object.keys(BAD_DEEDS);
const bad = kinds.map((kind, at) => badJob(`bad${at}`, kind));
const plan = {
  groups: [{ input: { id: 'g' }, jobs: [planJob('fine', { does: 'works', ms: 1 }), ...bad] }],
  tenantCaps: {},
};
const counts = { success: 2, failed: bad.length - 1 };
const group = { id: 'g', status: 'COMPLETED', counts } as unknown as GroupView;

const letters = (change: Partial<DeadLetter> = {}): DeadLetter[] =>
  bad
    .filter(({ dead }) => dead)
    .map(({ id, script }) => {
      const deed = BAD_DEEDS[script.bad ?? ''];
      return {
        job: { id, groupId: 'g' },
        code: deed?.code,
        error: `The handler: ${deed?.says}`,
        retryCount: deed?.lingers ? IMPATIENT_RETRIES : MAX_RETRIES,
        ...change,
      } as unknown as DeadLetter;
    });

const failedByCode = () => {
  const byCode = new Map<string, number>();
  for (const { code } of letters()) byCode.set(code, (byCode.get(code) ?? 0) + 1);
  return byCode;
};

const job = (status: string, retryCount = 0): JobView => ({ status, retryCount }) as unknown as JobView;
const settled = (name: string, jobStatus: string, token = 1) => ({
  job: `g#${name}`,
  token,
  status: 'accepted',
  jobStatus,
});

function evidence(changes: Partial<Evidence> = {}, testimony: object = {}): Evidence {
  return {
    plan,
    groups: [group],
    results: new Map([['g', { failedByCode: Object.fromEntries(failedByCode()) }]]),
    jobs: new Map([['g#fine', job('COMPLETED')]]),
    testimony: {
      settled: [settled('fine', 'COMPLETED'), ...bad.map(({ id, ends }) => settled(id, ends))],
      tries: [],
      deaths: 0,
      ...testimony,
    },
    ...changes,
  } as unknown as Evidence;
}

const entry = (kind: string, fields: object): LedgerEntry => ({ kind, at: 1, pid: 1, seq: 1, ...fields });

describe('the checkers of processors that misbehave', () => {
  it('find nothing wrong where all went as it must', () => {
    expect(checkLetters(evidence(), letters())).toMatchObject({ held: true });
    expect(checkCodes(evidence())).toMatchObject({ held: true });
    expect(checkNeighbours(evidence())).toMatchObject({ held: true });
    expect(checkTotals(evidence(), [])).toMatchObject({ held: true });
  });

  it('see a letter that is missing, unreadable, endless, without its code or its retries, and a deed that nobody did', () => {
    const wrong = (given: readonly DeadLetter[], of = evidence()) =>
      expect(checkLetters(of, given)).toMatchObject({ held: false });
    wrong(letters().slice(1));
    wrong(letters({ error: '' }));
    wrong(letters({ error: '[object Object]' }));
    wrong(letters().map((letter) => ({ ...letter, error: letter.error + 'x'.repeat(2000) })));
    wrong(letters({ code: 'OTHER' }));
    wrong(letters({ retryCount: 0 }));
    const [only] = plan.groups;
    wrong(
      letters(),
      evidence({ plan: { ...plan, groups: [{ input: { id: 'g' }, jobs: only?.jobs.slice(0, 2) ?? [] }] } }),
    );
  });

  it('see a failure that is counted under no code or under one that nobody had', () => {
    const results = (byCode: object) =>
      evidence({ results: new Map([['g', { failedByCode: byCode }]]) as unknown as Evidence['results'] });
    const lost = new Map(failedByCode());
    lost.delete('__proto__');
    expect(checkCodes(results(Object.fromEntries(lost)))).toMatchObject({ held: false });
    const more = Object.fromEntries([...failedByCode(), ['OTHER', 1]]);
    expect(checkCodes(results(more))).toMatchObject({ held: false });
  });

  it('see a neighbour that failed or lost a retry', () => {
    for (const hurt of [job('FAILED'), job('COMPLETED', 1)])
      expect(checkNeighbours(evidence({ jobs: new Map([['g#fine', hurt]]) }))).toMatchObject({ held: false });
  });

  it('see totals that are not the accepted settlements', () => {
    const few = { settled: [settled('fine', 'COMPLETED')] };
    expect(checkTotals(evidence({}, few), [])).toMatchObject({ held: false });
    const rest = bad.map(({ id, ends }) => settled(id, ends));
    expect(checkTotals(evidence({}, few), rest)).toMatchObject({ held: false });
    const tries = bad.map(({ id, dead }) => ({ job: `g#${id}`, token: 1, how: dead ? 'failed' : 'done' }));
    expect(checkTotals(evidence({}, { ...few, tries }), rest)).toMatchObject({ held: true });
    expect(checkTotals(evidence(), rest)).toMatchObject({ held: false });
    expect(checkTotals(evidence({}, { deaths: 1 }), [])).toMatchObject({ held: false });
  });

  it('see a repeat with another answer, and one that was overruled and counted', () => {
    const again = (second: string) =>
      entry('told-again', { job: 'g#a', token: 1, first: 'accepted PENDING', again: second });
    const crossed = (answer: string, isOverruled = true) =>
      entry('crossed', { job: 'g#a', token: 1, answer, isOverruled });
    const good = again('accepted PENDING');
    expect(checkTwiceTold([good, crossed('stale')])).toMatchObject({ held: true });
    expect(checkTwiceTold([good, crossed('stale'), crossed('accepted PENDING', false)])).toMatchObject({
      held: true,
    });
    expect(checkTwiceTold([again('stale'), crossed('stale')])).toMatchObject({ held: false });
    expect(checkTwiceTold([good, crossed('accepted PENDING')])).toMatchObject({ held: false });
    expect(checkTwiceTold([good, crossed('stale'), crossed('accepted COMPLETED', false)])).toMatchObject({
      held: false,
    });
    expect(checkTwiceTold([good])).toMatchObject({ held: false });
  });

  it('see a settlement that changes something when all is over', () => {
    const replay = (first: string | undefined, answer: string) => [{ job: 'g#a', token: 1, first, answer }];
    const same = [group];
    const fine = replay('accepted COMPLETED', 'accepted COMPLETED');
    expect(checkReplays(same, same, fine)).toMatchObject({ held: true });
    expect(checkReplays(same, same, replay('accepted PENDING', 'stale'))).toMatchObject({ held: true });
    expect(checkReplays(same, same, replay('accepted PENDING', 'accepted COMPLETED'))).toMatchObject({
      held: false,
    });
    expect(checkReplays(same, same, replay('accepted COMPLETED', 'accepted FAILED'))).toMatchObject({
      held: false,
    });
    expect(checkReplays(same, same, replay(undefined, 'accepted FAILED'))).toMatchObject({ held: true });
    const changed = { ...group, counts: { ...counts, success: 9 } } as unknown as GroupView;
    expect(checkReplays(same, [changed], fine)).toMatchObject({ held: false });
  });
});

describe('a store that is told everything twice', () => {
  it('hears each settlement again, and the older one of the same job behind it, as a success', async () => {
    const heard: string[][] = [];
    const notes: LedgerNote[] = [];
    const settle = async (settlements: readonly Settlement[]) => {
      heard.push(settlements.map(({ jobId, token, outcome }) => `${jobId} ${token} ${outcome.kind}`));
      return settlements.map(({ outcome }) => ({
        status: 'accepted',
        jobStatus: outcome.kind === 'retry' ? 'PENDING' : 'COMPLETED',
      }));
    };
    const append = (note: LedgerNote) => {
      notes.push(note);
      return entry(note.kind, {});
    };
    const store = { leases: { settle } } as unknown as BulkStore;
    const { leases } = twiceToldStore(store, { append, close() {}, [Symbol.dispose]() {} });
    const one = (token: number, kind: string) =>
      ({ key: '/g', jobId: 'a', token, durationMs: 1, outcome: { kind } }) as unknown as Settlement;
    await leases.settle([one(1, 'retry')]);
    expect(await leases.settle([one(2, 'failure')])).toHaveLength(1);
    expect(heard).toEqual([['a 1 retry'], ['a 1 retry'], ['a 2 failure', 'a 1 success'], ['a 2 failure']]);
    expect(notes.at(-1)).toMatchObject({
      kind: 'crossed',
      token: 1,
      answer: 'accepted COMPLETED',
      isOverruled: true,
    });
    expect(checkTwiceTold(notes.map((note) => entry(note.kind, note)))).toMatchObject({ held: false });
  });
});
