import { setTimeout as delay } from 'node:timers/promises';
import { type Rng, seededRng } from '@millrace/foundation';
import type { Gauge } from '../gauges.js';
import { quantile } from '../measure.js';
import { inBatches, sequence } from './jobs.js';
import { GLOBAL_RPS, groupId, jobOf, openEngine, openSubmitter } from './millrace.js';
import { flushRedis } from './redis.js';

/** A promise and what resolves it. */
function signal(): { readonly given: Promise<void>; give(): void } {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

/** Jobs at a fixed rate through 50 workers: how much longer than the rate demands, and starts put off on the way. */
export function fixedRate({ jobs, rps, groups }: { jobs: number; rps: number; groups: number }): Gauge {
  const burst = Math.max(1, rps / 10);
  return {
    work: `${jobs.toLocaleString('en')} jobs at ${rps.toLocaleString('en')}/s, ${groups} groups`,
    readings: [
      {
        name: 'first to last start / ((n − burst) / rate)',
        unit: '×',
        most: 1.02,
        aim: 1.005,
      },
      { name: 'throttles per job', unit: '', most: 0.02 },
    ],
    async run() {
      await flushRedis();
      const backpressure = { globalRps: rps, burst };
      const submitter = await openSubmitter({ backpressure });
      const perGroup = Math.ceil(jobs / groups);
      await inBatches({ total: jobs, size: perGroup, underWay: 4 }, (from, count) =>
        submitter.service.addJobs(groupId(from / perGroup), sequence(from, count, jobOf)),
      );
      await submitter.stop();
      const all = signal();
      const starts: number[] = [];
      const engine = await openEngine({ backpressure, workerPool: { workerCount: 50 } }, () => {
        if (starts.push(performance.now()) === jobs) all.give();
      });
      await engine.start();
      await all.given;
      const { rateDenied } = engine.pool.counters;
      await engine.stop();
      const elapsedMs = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
      return [elapsedMs / (((jobs - burst) / rps) * 1000), rateDenied / jobs];
    },
  };
}

const WEIGHTS = [1, 2, 4];
const TENANTS = 12;
const weightOf = (tenant: number) => WEIGHTS[tenant % WEIGHTS.length] ?? 1;

/** Jain's index of service per weight: 1 when everybody got what the weights say. */
function weightedJain(served: readonly number[]): number {
  const shares = served.map((count, tenant) => count / weightOf(tenant));
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum ** 2 / (shares.length * shares.reduce((a, b) => a + b * b, 0));
}

/** Tenants that all want more than there is: how near their service comes to their weights. */
export function fairness({ starts, meanMs }: { starts: number; meanMs: number }): Gauge {
  const slots = 16;
  // Enough for the heaviest, so that nobody runs dry before the last start that counts.
  const each = Math.ceil((starts * 4) / (4 * 7)) * 2;
  const counts = (serve: (tenant: number) => number) => Array.from({ length: TENANTS }, (_, t) => serve(t));
  return {
    work: `${TENANTS} tenants, weights 1:2:4, ${starts.toLocaleString('en')} starts of exponential ${meanMs} ms jobs on ${slots} slots`,
    readings: [
      { name: 'weighted Jain', unit: '', least: 0.999 },
      { name: 'the same by round robin', unit: '' },
      { name: 'the same by FIFO', unit: '' },
    ],
    async run(turn) {
      const rng = seededRng(`fairness ${turn}`);
      await flushRedis();
      const backpressure = { globalRps: GLOBAL_RPS };
      const submitter = await openSubmitter({ backpressure });
      const { service } = submitter;
      for (let tenant = 0; tenant < TENANTS; tenant++) {
        const tenantId = `t${tenant}`;
        await service.updateTenant(tenantId, { weight: weightOf(tenant) });
        const { groupId: group } = await service.createGroup({ id: groupId(tenant), tenantId });
        await service.addJobs(group, sequence(tenant * each, each, jobOf));
      }
      await submitter.stop();
      const served = counts(() => 0);
      const all = signal();
      let started = 0;
      const engine = await openEngine({ backpressure, workerPool: { workerCount: slots } }, async (job) => {
        const tenant = Number(job.tenantId.slice(1));
        if (started < starts) served[tenant] = (served[tenant] ?? 0) + 1;
        started += 1;
        if (started === starts) all.give();
        await delay(rng.exponential(meanMs));
      });
      await engine.start();
      await all.given;
      await engine.stop();
      const roundRobin = counts(() => starts / TENANTS);
      const fifo = counts((tenant) => Math.min(each, Math.max(0, starts - tenant * each)));
      return [weightedJain(served), weightedJain(roundRobin), weightedJain(fifo)];
    },
  };
}

const SLOTS = 16;
const JOB_MS = 50;
const READY_HORIZON_MS = 50;

/** A small tenant at half of its share, alone and beside one with a long queue: the 99th percentile of its waits. */
export function whale({
  queued,
  forMs,
  settleMs,
}: {
  queued: number;
  forMs: number;
  settleMs: number;
}): Gauge {
  // Two tenants of equal weight share 16 slots of 50 ms jobs: 160 jobs a second each.
  const perSecond = ((SLOTS * 1000) / JOB_MS / 2) * 0.5;
  return {
    work: `a small tenant (${perSecond}/s, half of its share) beside a whale of ${queued.toLocaleString('en')} jobs, ${SLOTS} slots, exponential ${JOB_MS} ms jobs`,
    readings: [
      { name: 'p99 wait alone', unit: 'ms' },
      { name: 'p99 wait beside the whale', unit: 'ms' },
      {
        name: 'the difference: one job time + readyHorizonMs',
        unit: 'ms',
        most: JOB_MS + READY_HORIZON_MS,
      },
    ],
    async run(turn) {
      const load = { perSecond, forMs, settleMs };
      // The same arrivals both times.
      const alone = await smallTenantWaits({ ...load, queued: 0 }, seededRng(`whale ${turn}`));
      const beside = await smallTenantWaits({ ...load, queued }, seededRng(`whale ${turn}`));
      return [alone, beside, beside - alone];
    },
  };
}

interface SmallTenantLoad {
  readonly queued: number;
  readonly perSecond: number;
  readonly forMs: number;
  readonly settleMs: number;
}

async function smallTenantWaits(
  { queued, perSecond, forMs, settleMs }: SmallTenantLoad,
  rng: Rng,
): Promise<number> {
  const [arrivals, services] = [rng.fork('arrivals'), rng.fork('services')];
  await flushRedis();
  const backpressure = { globalRps: GLOBAL_RPS, readyHorizonMs: READY_HORIZON_MS };
  const submitter = await openSubmitter({ backpressure });
  const submittedAt = new Map<string, number>();
  const waits: number[] = [];
  if (queued > 0) await submitter.service.addJobs('whale', sequence(0, queued, jobOf));
  const engine = await openEngine({ backpressure, workerPool: { workerCount: SLOTS } }, async (job) => {
    const since = submittedAt.get(job.id);
    if (since !== undefined) waits.push(performance.now() - since);
    await delay(services.exponential(JOB_MS));
  });
  await engine.start();
  await delay(settleMs);
  const calls: Promise<unknown>[] = [];
  const endAt = performance.now() + forMs;
  let index = queued;
  for (let nextAt = performance.now(); nextAt < endAt; nextAt += arrivals.exponential(1000 / perSecond)) {
    await delay(Math.max(0, nextAt - performance.now()));
    const job = jobOf(index++);
    submittedAt.set(job.id ?? '', performance.now());
    calls.push(submitter.service.submitJob('small', job));
  }
  await Promise.all(calls);
  while (waits.length < calls.length) await delay(5);
  await engine.stop();
  await submitter.stop();
  return quantile(waits, 0.99);
}
