import { beeQueue } from './bulk/bee-queue.js';
import { bullmq } from './bulk/bullmq.js';
import { fairness, fixedRate, whale } from './bulk/gauges.js';
import { GLOBAL_RPS, millrace } from './bulk/millrace.js';
import { describeRedis, stopRedis } from './bulk/redis.js';
import { processing, starting, submitting, weighing } from './bulk/sides.js';
import type { Gauge } from './gauges.js';
import { GROWTH_RATIOS, growth } from './growth.js';
import { describePeers } from './peers.js';
import { type Row, registerBench } from './registry.js';

const CONCURRENCY = 50;
const FEW_GROUPS = 10;
const text = (count: number) => count.toLocaleString('en');

const manyGroups = (smoke: boolean) => (smoke ? 200 : 100_000);

/** As many jobs whatever the groups; fewer are timed than beside the peers, since handing 100,000 groups in takes most of the sample. */
const among = (groups: number, smoke: boolean) => ({
  waiting: { jobs: 2 * manyGroups(smoke), groups },
  jobs: smoke ? 50 : 10_000,
  concurrency: CONCURRENCY,
});

/** bee-queue first everywhere: the noise of a peer against itself is measured with the first, and it is the quicker one. */
function rows({ smoke }: { smoke: boolean }): Row[] {
  const groups = smoke ? 20 : 1000;
  const submitted = { jobs: smoke ? 200 : 50_000, groups };
  const timed = smoke ? 100 : 20_000;
  const work = { waiting: { jobs: timed + groups, groups }, jobs: timed, concurrency: CONCURRENCY };
  const many = manyGroups(smoke);
  const lone = { jobs: smoke ? 5 : 60, concurrency: CONCURRENCY };
  return [
    {
      work: `submit: ${text(submitted.jobs)} jobs in batches, ${text(groups)} groups`,
      unit: 'ns',
      bar: 1.5,
      aim: 3,
      ours: submitting(millrace, submitted),
      peers: [submitting(beeQueue, submitted), submitting(bullmq, submitted, { bar: 5, aim: 10 })],
    },
    {
      work: `process: no-op jobs, ${text(groups)} groups, concurrency ${CONCURRENCY}`,
      unit: 'ns',
      bar: 1.3,
      aim: 2.5,
      ours: processing(millrace, work),
      peers: [processing(beeQueue, work), processing(bullmq, work, { bar: 3, aim: 5 })],
    },
    {
      work: `process: ${text(many)} groups beside ${FEW_GROUPS} groups`,
      unit: 'ns',
      // The cost of a job may grow 2.5 times from 10 groups to 100,000; the aim is 1.5 times.
      bar: 0.4,
      aim: 0.67,
      ours: processing(millrace, among(many, smoke)),
      peers: [processing(millrace, among(FEW_GROUPS, smoke), { name: 'the same' })],
    },
    {
      work: 'a lone job: from submit to start, p50',
      unit: 'µs',
      bar: 0,
      aim: 1,
      ours: starting(millrace, lone),
      peers: [starting(beeQueue, lone), starting(bullmq, lone, { bar: 1, aim: 1 })],
    },
    {
      work: `memory of Redis: a queued job, 100-byte payload, 16-character id, ${text(groups)} groups`,
      unit: 'bytes',
      bar: 0,
      aim: 1,
      ceiling: 300,
      ours: weighing(millrace, submitted),
      peers: [weighing(beeQueue, submitted), weighing(bullmq, submitted)],
    },
  ];
}

const gauges = ({ smoke }: { smoke: boolean }): Gauge[] => [
  growth(manyGroups(smoke), (groups) => processing(millrace, among(groups, smoke))),
  fixedRate(smoke ? { jobs: 200, rps: 1000, groups: 10 } : { jobs: 15_000, rps: 1000, groups: 100 }),
  fairness(smoke ? { starts: 240, meanMs: 2 } : { starts: 12_000, meanMs: 5 }),
  whale(smoke ? { queued: 200, forMs: 200, settleMs: 0 } : { queued: 100_000, forMs: 5000, settleMs: 1000 }),
];

registerBench({
  name: 'bulk',
  get settings() {
    return [
      ...describePeers(['bullmq', 'bee-queue']),
      `BulkActionEngine: RedisStore, ${CONCURRENCY} workers, fetchBatchSize 4 × workers, globalRps ${text(GLOBAL_RPS)} (never reached), one addJobs call per group, 8 under way`,
      'Producer and worker are two objects with connections of their own, in one process; a job is timed from the call to its handler',
      GROWTH_RATIOS,
      describeRedis(),
    ];
  },
  pairs: 9,
  warmUps: 1,
  rows,
  gauges,
  close: stopRedis,
});
