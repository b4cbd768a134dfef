import { BulkActionEngine, defineProcessor, type JobInput } from '@millrace/bulk-action';
import PQueue from 'p-queue';
import { GROWTH_RATIOS, growth } from './growth.js';
import { collectGarbage, type Side } from './measure.js';
import { describePeers } from './peers.js';
import { type Row, registerBench } from './registry.js';

const CONCURRENCY = 50;
const GROUPS = 1000;
const MANY_GROUPS = 100_000;
const FEW_GROUPS = 10;
const BATCH = 1000;
const FIRST_ID = 1_000_000_000_000_000;
const TEXT = 'x'.repeat(54);
/** Above reach, so that the limiter works for every start and never holds one back. */
const GLOBAL_RPS = 1_000_000;

const groupOf = (index: number, groups: number) => `g${index % groups}`;

/** An id of 16 characters and a payload of 100 bytes of JSON. */
const jobOf = (index: number): JobInput => ({
  id: String(FIRST_ID + index),
  processorType: 'noop',
  payload: { to: `user-${String(index).padStart(10, '0')}@example.org`, text: TEXT },
});

/** An engine whose processor calls back when so many jobs have run. */
function engineOf(jobs: number, onLast: () => void): BulkActionEngine {
  let left = jobs;
  const noop = defineProcessor({
    type: 'noop',
    process() {
      if (--left === 0) onLast();
    },
  });
  return new BulkActionEngine({
    processors: [noop],
    config: { backpressure: { globalRps: GLOBAL_RPS }, workerPool: { workerCount: CONCURRENCY } },
  });
}

/** Registers jobs in batches, spread over groups. */
async function submit({ service }: BulkActionEngine, jobs: number, groups: number): Promise<void> {
  const perGroup = Math.ceil(jobs / groups);
  for (let group = 0; group < groups; group++) {
    const from = group * perGroup;
    const count = Math.min(perGroup, jobs - from);
    for (let done = 0; done < count; done += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, count - done) }, (_, n) => jobOf(from + done + n));
      await service.addJobs(`g${group}`, batch);
    }
  }
}

const nanoseconds = async (work: () => Promise<unknown>): Promise<number> => {
  collectGarbage();
  const startedAt = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - startedAt);
};

/**
 * Runs jobs that were registered before, through the whole engine: fair queue, limits, leases, counting.
 * More are waiting than are timed, so that no group runs dry and every start is a choice among all of them.
 */
const processing = (name: string, jobs: number, groups: number, waiting: number): Side => ({
  name,
  async sample() {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const engine = engineOf(jobs, finish);
    await submit(engine, waiting, groups);
    const cost = await nanoseconds(async () => {
      await engine.start();
      await finished;
    });
    await engine.stop();
    return cost / jobs;
  },
});

/** A queue of the same concurrency in one process, with no groups, limits, leases or counting. */
const queueing = (name: string, jobs: number): Side => ({
  name,
  async sample() {
    const queue = new PQueue({ concurrency: CONCURRENCY, autoStart: false });
    for (let index = 0; index < jobs; index++) queue.add(async () => {});
    const cost = await nanoseconds(async () => {
      queue.start();
      await queue.onIdle();
    });
    return cost / jobs;
  },
});

const submitting = (
  name: string,
  jobs: number,
  run: (engine: BulkActionEngine) => Promise<unknown>,
): Side => ({
  name,
  async sample() {
    const engine = engineOf(jobs, () => {});
    return (await nanoseconds(() => run(engine))) / jobs;
  },
});

async function submitOneByOne({ service }: BulkActionEngine, jobs: number): Promise<void> {
  for (let index = 0; index < jobs; index++) await service.addJobs(groupOf(index, GROUPS), [jobOf(index)]);
}

/** What `keep` leaves on the heap, per job. */
const weighing = (name: string, jobs: number, keep: () => Promise<unknown>): Side => ({
  name,
  async sample() {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const kept = await keep();
    collectGarbage();
    const after = process.memoryUsage().heapUsed;
    // Named after the measurement, or the collector may take it before.
    if (kept === undefined) throw new Error('There is nothing to weigh');
    return (after - before) / jobs;
  },
});

async function keepEngine(jobs: number, groups: number): Promise<BulkActionEngine> {
  const engine = engineOf(jobs, () => {});
  await submit(engine, jobs, groups);
  return engine;
}

async function keepPlain(
  jobs: number,
): Promise<Map<string, { readonly id: string; readonly payload: string }>> {
  const all = new Map<string, { readonly id: string; readonly payload: string }>();
  for (let index = 0; index < jobs; index++) {
    const { id = '', payload } = jobOf(index);
    all.set(id, { id, payload: JSON.stringify(payload) });
  }
  return all;
}

const MACRO = { pairs: 9, warmUps: 1 };

function rows({ smoke }: { smoke: boolean }): Row[] {
  const jobs = smoke ? 200 : 50_000;
  const groups = smoke ? 20 : GROUPS;
  const many = smoke ? 200 : MANY_GROUPS;
  return [
    {
      work: `process: no-op jobs, ${groups.toLocaleString('en')} groups, concurrency ${CONCURRENCY}`,
      unit: 'ns',
      // A bare queue does none of what the engine does; it shows where the floor is. The ceiling judges.
      bar: 0,
      aim: 0.1,
      ceiling: 50_000,
      ours: processing('BulkActionEngine', jobs, groups, 2 * jobs),
      peers: [queueing('p-queue', jobs)],
      ...MACRO,
    },
    {
      work: `process: ${many.toLocaleString('en')} groups beside ${FEW_GROUPS} groups`,
      unit: 'ns',
      // The cost of a job may grow 2.5 times from 10 groups to 100,000; the aim is 1.5 times.
      bar: 0.4,
      aim: 0.67,
      ours: processing('BulkActionEngine', jobs, many, 2 * many),
      peers: [processing('the same', jobs, FEW_GROUPS, 2 * many)],
      ...MACRO,
    },
    {
      work: `submit: batches of ${Math.ceil(jobs / groups)}, ${groups.toLocaleString('en')} groups`,
      unit: 'ns',
      bar: 1,
      aim: 3,
      ceiling: 15_000,
      ours: submitting('addJobs, batches', jobs, (engine) => submit(engine, jobs, groups)),
      peers: [submitting('addJobs, one by one', jobs, (engine) => submitOneByOne(engine, jobs))],
      ...MACRO,
    },
    {
      work: `memory: a queued job, 100-byte payload, 16-character id, ${groups.toLocaleString('en')} groups`,
      unit: 'bytes',
      // About 620: the record of a job 300 (27 fields of 8 bytes and its times), payload and id 180, the entries of map,
      // list and lane 70, and its part of a group.
      bar: 0,
      aim: 0.6,
      ceiling: 700,
      ours: weighing('MemoryStore', jobs, () => keepEngine(jobs, groups)),
      peers: [weighing('id and payload in a Map', jobs, () => keepPlain(jobs))],
      ...MACRO,
    },
  ];
}

registerBench({
  name: 'bulk-memory',
  settings: [
    ...describePeers(['p-queue']),
    `BulkActionEngine: in memory, ${CONCURRENCY} workers, globalRps ${GLOBAL_RPS.toLocaleString('en')} (never reached), the rest as it comes`,
    'no peer has its features in memory: p-queue (filled while stopped, then drained) and a Map only show where the floor is',
    GROWTH_RATIOS,
  ],
  pairs: 9,
  warmUps: 1,
  rows,
  gauges({ smoke }) {
    const [jobs, most] = smoke ? [200, 200] : [50_000, MANY_GROUPS];
    return [growth(most, (groups) => processing('BulkActionEngine', jobs, groups, 2 * most))];
  },
});
