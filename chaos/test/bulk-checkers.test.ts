import type { GroupView, JobView } from '@millrace/bulk-action';
import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { checkCountedOnce, checkNoLoss, checkNothingLeft } from '../src/bulk/check-ends.js';
import { declaredKeys } from '../src/bulk/check-keys.js';
import { checkCaps, checkRates } from '../src/bulk/check-limits.js';
import { checkExecutions, checkStaleRefused } from '../src/bulk/check-tries.js';
import type { Evidence } from '../src/bulk/evidence.js';
import { drawPlan, jobName, type Plan, planJob } from '../src/bulk/plan.js';
import { type Testimony, type Try, testimonyOf } from '../src/bulk/tries.js';

const counts = {
  registered: 2,
  success: 1,
  failed: 1,
  cancelled: 0,
  pending: 0,
  inFlight: 0,
  nonReady: 0,
  ready: 0,
};
const plan: Plan = {
  groups: [
    {
      input: { id: 'g', concurrency: 1, rps: 1, burst: 1 },
      jobs: [planJob('a', { does: 'works', ms: 1 }), planJob('b', { does: 'refuses', ms: 1 })],
    },
  ],
  tenantCaps: {},
};

const attempt = (job: string, beganAt: number, rest: Partial<Try> = {}): Try => ({
  job: `g#${job}`,
  group: 'g',
  attempt: 1,
  token: undefined,
  worker: 1,
  beganAt,
  endedAt: beganAt + 10,
  how: 'done',
  answer: 'accepted',
  ...rest,
});

const job = (status: string, rest: Partial<JobView> = {}): JobView =>
  ({ status, place: 'DONE', retryCount: 0, orphanCount: 0, failedTries: [], ...rest }) as unknown as JobView;

const settled = (name: string, token: number, status: string, jobStatus?: string) => ({
  job: `g#${name}`,
  token,
  status,
  jobStatus,
});

/** A run in which everything went well, with what is given changed. */
function evidence(changes: Partial<Evidence> = {}, testimony: Partial<Testimony> = {}): Evidence {
  const group = { id: 'g', status: 'COMPLETED', counts } as unknown as GroupView;
  const result = { total: 2, success: 1, failed: 1 };
  return {
    plan,
    groups: [group],
    results: new Map([['g', result]]) as unknown as Evidence['results'],
    jobs: new Map([
      ['g#a', job('COMPLETED')],
      ['g#b', job('FAILED')],
    ]),
    deadLetters: new Set(),
    queues: { lane: 0, ready: 0, nonReady: 0, inFlight: 0 } as Evidence['queues'],
    keys: [],
    ...changes,
    testimony: {
      acknowledged: new Set(['g#a', 'g#b']),
      tries: [attempt('a', 1000), attempt('b', 3000, { how: 'failed' })],
      settled: [settled('a', 1, 'accepted', 'COMPLETED'), settled('b', 2, 'accepted', 'FAILED')],
      leases: new Map(),
      givenBack: new Map(),
      deaths: 0,
      ...testimony,
    },
  };
}

describe('the checkers of bulk scenarios', () => {
  it('find nothing wrong in a run that went well', () => {
    const good = evidence();
    for (const check of [checkNoLoss, checkCountedOnce, checkExecutions, checkCaps, checkNothingLeft]) {
      expect(check(good)).toMatchObject({ held: true });
    }
    expect(checkStaleRefused(good, false)).toMatchObject({ held: true });
    expect(checkRates(good, 0)).toMatchObject({ held: true });
  });

  it('see a job that is gone, has not ended, ended otherwise, never ran, or that nobody asked for', () => {
    const jobs = (a: JobView | undefined, more: [string, JobView][] = []) =>
      new Map([...(a ? [['g#a', a] as const] : []), ['g#b', job('FAILED')] as const, ...more]);
    const wrong = (changes: Partial<Evidence>, testimony?: Partial<Testimony>) =>
      expect(checkNoLoss(evidence(changes, testimony))).toMatchObject({ held: false });
    wrong({ jobs: jobs(undefined) });
    wrong({ jobs: jobs(job('PENDING')) });
    wrong({ jobs: jobs(job('FAILED')) });
    wrong({}, { tries: [] });
    wrong({ jobs: jobs(job('COMPLETED'), [['g#c', job('COMPLETED')]]) });
    wrong({ deadLetters: new Set(['g#b']) });
  });

  it('see a job that was counted twice or not at all', () => {
    const twice = [1, 2].map((token) => settled('a', token, 'accepted', 'COMPLETED'));
    expect(checkCountedOnce(evidence({}, { settled: twice }))).toMatchObject({ held: false });
    const groups = [
      { id: 'g', status: 'COMPLETED', counts: { ...counts, success: 2 } } as unknown as GroupView,
    ];
    expect(checkCountedOnce(evidence({ groups }))).toMatchObject({ held: false });
    expect(checkCountedOnce(evidence({ results: new Map() }))).toMatchObject({ held: false });
  });

  it('see an execution that nothing explains, and two under one lease', () => {
    const again = [attempt('a', 1000), attempt('a', 2000, { attempt: 2 })];
    expect(checkExecutions(evidence({}, { tries: again }))).toMatchObject({ held: false });
    const orphaned = new Map([['g#a', job('COMPLETED', { orphanCount: 1 })]]);
    expect(checkExecutions(evidence({ jobs: orphaned }, { tries: again }))).toMatchObject({ held: true });
    const same = [attempt('a', 1000), attempt('a', 2000)];
    expect(checkExecutions(evidence({ jobs: orphaned }, { tries: same }))).toMatchObject({ held: false });
  });

  it('see a token that was refused and accepted or that another one had replaced, and miss stale ones where there must be some', () => {
    const both = [settled('a', 1, 'accepted', 'COMPLETED'), settled('a', 1, 'stale')];
    expect(checkStaleRefused(evidence({}, { settled: both }), false)).toMatchObject({ held: false });
    const leases = new Map([['g#a', [{ token: 3, at: 1005 }]]]);
    expect(checkStaleRefused(evidence({}, { leases }), false)).toMatchObject({ held: false });
    const retried = [settled('a', 1, 'accepted', 'PENDING'), settled('a', 3, 'accepted', 'COMPLETED')];
    const ofOld = (endedAt: number) =>
      evidence({}, { leases, settled: retried, tries: [attempt('a', 1000, { token: 1, endedAt })] });
    expect(checkStaleRefused(ofOld(1010), false)).toMatchObject({ held: false });
    expect(checkStaleRefused(ofOld(1002), false)).toMatchObject({ held: true });
    const own = evidence(
      {},
      { leases, settled: [settled('b', 2, 'accepted'), settled('a', 3, 'stale')], tries: [] },
    );
    expect(checkStaleRefused(own, false)).toMatchObject({ held: false });
    expect(checkStaleRefused(evidence(), true)).toMatchObject({ held: false });
  });

  it('see a cap and a rate exceeded, but not by a try that had lost its lease', () => {
    const together = [attempt('a', 1000), attempt('b', 1005)];
    expect(checkCaps(evidence({}, { tries: together }))).toMatchObject({ held: false });
    const lost = [attempt('a', 1000), attempt('b', 1005, { answer: 'stale' })];
    expect(checkCaps(evidence({}, { tries: lost }))).toMatchObject({ held: true });
    const quick = [1000, 1300, 1600].map((at, index) => attempt('a', at, { attempt: index }));
    expect(checkRates(evidence({}, { tries: quick }), 0)).toMatchObject({ held: false });
    const stamps = ['a', 'b', 'c'].map((id) => [`g#${id}`, job('COMPLETED', { startedAt: 5000 })] as const);
    const three = ['a', 'b', 'c'].map((id) => planJob(id, { does: 'works', ms: 1 }));
    const [group] = plan.groups;
    if (!group) throw new Error('the plan has a group');
    const rated = { ...plan, groups: [{ ...group, jobs: three }] };
    expect(checkRates(evidence({ plan: rated, jobs: new Map(stamps) }), 0)).toMatchObject({ held: false });
  });

  it('see what is left in a queue or counted as open', () => {
    const queues = { lane: 0, ready: 0, nonReady: 0, inFlight: 1 } as Evidence['queues'];
    expect(checkNothingLeft(evidence({ queues }))).toMatchObject({ held: false });
    const groups = [{ id: 'g', counts: { ...counts, nonReady: -1, pending: 2 } } as unknown as GroupView];
    expect(checkNothingLeft(evidence({ groups }))).toMatchObject({ held: false });
  });

  it('know the keys of a document by name and type', () => {
    const rows = declaredKeys('| `<keyPrefix>{<shard>}:g:<group>` | hash | none |\n| key | type |\n');
    const known = (key: string, type: string) => rows.some((row) => row({ key, type }));
    expect(known('chaos:{0}:g:/g1', 'hash')).toBe(true);
    expect(known('chaos:{0}:g:/g1', 'list')).toBe(false);
    expect(known('chaos:{0}:x', 'hash')).toBe(false);
    expect(known('other:{0}:g:/g1', 'hash')).toBe(false);
  });
});

describe('what the ledger of a bulk scenario says', () => {
  const entry = (kind: string, at: number, fields: object = {}, pid = 7) => ({
    kind,
    at,
    pid,
    seq: 1,
    ...fields,
  });

  it('joins begin, end and answer of a try, and ends those of a dead process', () => {
    const name = { job: 'g#a', attempt: 1 };
    const { tries, acknowledged, deaths, leases } = testimonyOf(
      [
        entry('acknowledged', 1, { group: 'g', id: 'a' }, 1),
        entry('leased', 2, { ...name, token: 9 }),
        entry('began', 3, name),
        entry('ended', 8, { ...name, how: 'done' }),
        entry('settled', 9, { job: 'g#a', token: 9, status: 'accepted', jobStatus: 'COMPLETED' }),
        entry('began', 10, { job: 'g#b', attempt: 1 }),
        entry('died', 5000, { worker: 7 }, 1),
      ],
      2000,
    );
    expect([...acknowledged]).toEqual(['g#a']);
    expect(deaths).toBe(1);
    expect(leases).toEqual(new Map([['g#a', [{ token: 9, at: 2 }]]]));
    expect(tries).toMatchObject([
      { job: 'g#a', beganAt: 3, endedAt: 8, how: 'done', answer: 'accepted' },
      { job: 'g#b', beganAt: 10, endedAt: 1010, how: 'killed', answer: undefined },
    ]);
  });
});

describe('the plan of a bulk scenario', () => {
  it('is the same for the same seed, has the jobs that were asked for, and some of each kind', () => {
    const size = { groups: 12, jobs: 1000, ms: [20, 200], mixed: true } as const;
    const drawn = drawPlan(seededRng(1), size);
    expect(drawPlan(seededRng(1), size)).toEqual(drawn);
    expect(drawPlan(seededRng(2), size)).not.toEqual(drawn);
    const names = drawn.groups.flatMap(({ input, jobs }) => jobs.map(({ id }) => jobName(input.id, id)));
    expect(new Set(names).size).toBe(1000);
    const deeds = new Set(drawn.groups.flatMap(({ jobs }) => jobs.map(({ script }) => script.does)));
    expect(deeds).toEqual(new Set(['works', 'fails-first', 'throttled-first', 'refuses', 'fails-always']));
    const inputs = drawn.groups.map(({ input }) => input);
    for (const limit of ['concurrency', 'rps', 'tenantId'] as const) {
      expect(inputs.some((input) => input[limit] !== undefined)).toBe(true);
    }
  });
});
