import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model.js';
import { type ExplainFacts, explainJob } from '../../src/rules/explain.js';
import type { Bucket } from '../../src/rules/gcra.js';

const NOW_MS = 1_700_000_000_000;
const NOW_US = NOW_MS * 1000;

const job = (patch: Partial<JobView> = {}): JobView => ({
  id: 'j',
  groupId: 'g',
  tenant: '',
  processorType: 'T',
  status: 'PENDING',
  place: 'LANE',
  retryCount: 0,
  orphanCount: 0,
  attempts: 0,
  cost: 1,
  createdAt: NOW_MS,
  failedTries: [],
  traceparent: '',
  ...patch,
});

type Patch = Partial<Omit<ExplainFacts, 'job' | 'group' | 'tenant' | 'global'>> & {
  job?: Partial<JobView>;
  group?: Partial<ExplainFacts['group']>;
  tenant?: Partial<ExplainFacts['tenant']>;
  global?: Partial<ExplainFacts['global']>;
};

/** A job that nothing holds back, but for what the patch says. */
const facts = ({ job: of, group, tenant, global, ...rest }: Patch = {}): ExplainFacts => ({
  nowUs: NOW_US,
  job: job(of),
  group: { held: 0, running: 0, readyCost: 0, status: 'RUNNING', paused: false, ...group },
  tenant: { held: 0, running: 0, readyCost: 0, ...tenant },
  global: { readyCost: 0, ...global },
  overShare: false,
  jobsAhead: 0,
  groupsAhead: 0,
  tenantsAhead: 0,
  readyAhead: 0,
  readyBound: 10,
  waitingSlots: 5,
  startsPerSecond: 0,
  groupSettledPerSecond: 0,
  processorKnown: true,
  dueInMs: 0,
  ...rest,
});
const bucket = (ahead: number): Bucket => ({ rps: 10, burst: 1, costMax: 1000, tatUs: NOW_US + ahead });
const gatesOf = (patch: Patch) => explainJob(facts(patch)).gates.map(({ gate }) => gate);
const ready = { place: 'READY' } as const;
const backOff = { place: 'NON_READY', reason: 'TRANSIENT_ERROR' } as const;

describe('bulk-action BA-2: why a job does not run', () => {
  it('bulk-action BA-2: nothing holds it: a worker takes it now', () => {
    for (const of of [{}, ready]) {
      expect(explainJob(facts({ job: of }))).toMatchObject({ gate: 'WORKER', gates: [], etaMs: 0 });
    }
  });

  it.each<[string, Patch, { opensInMs?: number; detail: RegExp }, number | null]>([
    ['DONE', { job: { place: 'DONE', status: 'COMPLETED' } }, { detail: /COMPLETED/ }, null],
    ['DONE', { job: { place: 'DEAD', status: 'FAILED' } }, { detail: /FAILED/ }, null],
    ['DONE', { job: { status: 'CANCELLED' }, group: { status: 'CANCELLED' } }, { detail: /CANCELLED/ }, null],
    [
      'DONE',
      { job: { place: 'IN_FLIGHT', status: 'CANCELLED' }, group: { status: 'FAILED' } },
      { detail: /FAILED/ },
      null,
    ],
    ['RUNNING', { job: { place: 'IN_FLIGHT', status: 'PROCESSING' } }, { detail: /worker/ }, 0],
    ['PAUSED', { group: { paused: true } }, { detail: /resume/ }, null],
    [
      'BACK_OFF',
      { job: backOff, dueInMs: 1500 },
      { opensInMs: 1500, detail: /TRANSIENT_ERROR, due in 1500 ms/ },
      1500,
    ],
    ['BACK_OFF', { job: backOff }, { opensInMs: 0, detail: /due in 0 ms/ }, 0],
    ['NO_PROCESSOR', { processorKnown: false }, { detail: /'T'/ }, null],
    ['GROUP_CAP', { group: { held: 3, concurrency: 3 } }, { detail: /3 of 3/ }, null],
    [
      'GROUP_CAP',
      { group: { held: 3, concurrency: 3 }, groupSettledPerSecond: 2 },
      { detail: /3 of 3/ },
      500,
    ],
    ['GROUP_CAP', { job: ready, group: { held: 4, running: 3, concurrency: 3 } }, { detail: /4 of 3/ }, null],
    ['TENANT_CAP', { tenant: { held: 9, concurrency: 8 } }, { detail: /9 of 8/ }, null],
    ['MAX_SHARE', { group: { held: 5 }, overShare: true }, { detail: /5 of its jobs/ }, null],
    [
      'RESOURCE_FROZEN',
      { resource: { name: 'api', held: 0, readyCost: 0, frozenForMs: 700 } },
      { opensInMs: 700, detail: /'api' asked to be left alone/ },
      700,
    ],
    [
      'RESOURCE_CAP',
      { resource: { name: 'api', held: 4, concurrency: 4, readyCost: 0, frozenForMs: 0 } },
      { detail: /4 of 4 jobs that call 'api'/ },
      null,
    ],
    [
      'RESOURCE_RATE',
      { resource: { name: 'api', held: 0, readyCost: 0, frozenForMs: 0, bucket: bucket(70_000) } },
      { opensInMs: 70, detail: /in 70 ms/ },
      70,
    ],
    ['GROUP_RATE', { group: { bucket: bucket(250_000) } }, { opensInMs: 250, detail: /10 per second/ }, 250],
    ['TENANT_RATE', { tenant: { bucket: bucket(100_001) } }, { opensInMs: 101, detail: /in 101 ms/ }, 101],
    ['GLOBAL_RATE', { global: { bucket: bucket(1) } }, { opensInMs: 1, detail: /in 1 ms/ }, 1],
    [
      'GLOBAL_RATE',
      { global: { bucket: bucket(0), readyCost: 2 } },
      { opensInMs: 200, detail: /in 200 ms/ },
      200,
    ],
    ['READY_FULL', { readyAhead: 10, startsPerSecond: 4 }, { detail: /10 of 10/ }, 250],
    ['TURN', { jobsAhead: 7, groupSettledPerSecond: 4 }, { detail: /7 jobs of its group/ }, 2000],
    ['TURN', { groupsAhead: 2 }, { detail: /2 groups of its tenant/ }, null],
    ['TURN', { tenantsAhead: 3, startsPerSecond: 8 }, { detail: /3 tenants/ }, 500],
    ['WORKER', { job: ready, readyAhead: 5, startsPerSecond: 1 }, { detail: /5 jobs are before it/ }, 1000],
  ])('bulk-action BA-2: %s alone: %j', (gate, patch, { opensInMs, detail }, etaMs) => {
    const explanation = explainJob(facts(patch));
    expect(explanation.gate).toBe(gate);
    expect(explanation.gates).toEqual([
      { gate, detail: expect.stringMatching(detail), ...(opensInMs !== undefined && { opensInMs }) },
    ]);
    expect(explanation.etaMs).toBe(etaMs);
  });

  it('bulk-action BA-2: all gates are named in the order in which the job meets them', () => {
    const scope = { held: 1, concurrency: 1, bucket: bucket(50_000) };
    const all: Patch = {
      job: backOff,
      group: { ...scope, paused: true },
      tenant: scope,
      global: { bucket: bucket(50_000) },
      processorKnown: false,
      jobsAhead: 1,
      readyAhead: 10,
    };
    expect(gatesOf(all)).toEqual([
      'PAUSED',
      'BACK_OFF',
      'NO_PROCESSOR',
      'GROUP_CAP',
      'TENANT_CAP',
      'GROUP_RATE',
      'TENANT_RATE',
      'GLOBAL_RATE',
      'READY_FULL',
      'TURN',
    ]);
    expect(explainJob(facts(all))).toMatchObject({ gate: 'PAUSED', etaMs: null, position: { jobsAhead: 1 } });
  });

  it('bulk-action BA-2: a ready job has its slot: a full cap and the cost in ready do not hold it', () => {
    expect(gatesOf({ job: ready, group: { held: 3, concurrency: 3 } })).toEqual([]);
    expect(gatesOf({ job: ready, global: { bucket: bucket(0), readyCost: 9 } })).toEqual([]);
    expect(gatesOf({ job: ready, jobsAhead: 4, tenantsAhead: 4, readyAhead: 4, readyBound: 1 })).toEqual([]);
  });

  it('bulk-action BA-2: the ETA is the later of the slowest gate and the jobs before it', () => {
    const waiting: Patch = { jobsAhead: 9, group: { bucket: bucket(3_000_000) }, job: {} };
    expect(explainJob(facts({ ...waiting, groupSettledPerSecond: 1 })).etaMs).toBe(10_000);
    expect(explainJob(facts({ ...waiting, groupSettledPerSecond: 100 })).etaMs).toBe(3000);
  });

  it('bulk-action BA-2: whatever the facts, the first gate is the one it names and the ETA is null or a whole number ≥ 0', () => {
    const small = fc.nat(12);
    const anyFacts = fc.record({
      place: fc.constantFrom('LANE', 'READY', 'NON_READY'),
      paused: fc.boolean(),
      held: small,
      ahead: fc.option(fc.integer({ min: -1_000_000, max: 1_000_000 }), { nil: undefined }),
      rate: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 100, noNaN: true })),
      rest: fc.record({
        jobsAhead: small,
        groupsAhead: small,
        tenantsAhead: small,
        readyAhead: small,
        waitingSlots: small,
      }),
    });
    fc.assert(
      fc.property(anyFacts, ({ place, paused, held, ahead, rate, rest }) => {
        const explanation = explainJob(
          facts({
            ...rest,
            job: { place, reason: 'SCHEDULED' } as Partial<JobView>,
            group: { paused, held, concurrency: 6, ...(ahead !== undefined && { bucket: bucket(ahead) }) },
            startsPerSecond: rate,
            dueInMs: 10,
          }),
        );
        expect(explanation.gate).toBe(explanation.gates[0]?.gate ?? 'WORKER');
        const { etaMs } = explanation;
        expect(etaMs === null || (Number.isInteger(etaMs) && etaMs >= 0)).toBe(true);
        for (const { opensInMs = 0 } of explanation.gates)
          if (etaMs !== null) expect(etaMs).toBeGreaterThanOrEqual(opensInMs);
      }),
    );
  });
});
