import { stopCluster } from './bulk/cluster.js';
import { GLOBAL_RPS, millraceOnCluster } from './bulk/millrace.js';
import { processing, submitting } from './bulk/sides.js';
import { type Row, registerBench } from './registry.js';

const CONCURRENCY = 50;
const SHARDS = 3;
const text = (count: number) => count.toLocaleString('en');

/** No bar: what several masters give depends on the cores that they have. */
function rows({ smoke }: { smoke: boolean }): Row[] {
  const groups = smoke ? 20 : 1000;
  const submitted = { jobs: smoke ? 200 : 50_000, groups };
  const timed = smoke ? 100 : 20_000;
  const work = { waiting: { jobs: timed + groups, groups }, jobs: timed, concurrency: CONCURRENCY };
  const [one, several] = [millraceOnCluster(1), millraceOnCluster(SHARDS)];
  return [
    {
      work: `submit: ${text(submitted.jobs)} jobs in batches, ${text(groups)} groups`,
      unit: 'ns',
      bar: 0,
      aim: 1,
      ours: submitting(several, submitted),
      peers: [submitting(one, submitted)],
    },
    {
      work: `process: no-op jobs, ${text(groups)} groups, concurrency ${CONCURRENCY}`,
      unit: 'ns',
      bar: 0,
      aim: 1,
      ours: processing(several, work),
      peers: [processing(one, work)],
    },
  ];
}

registerBench({
  name: 'bulk-shards',
  settings: [
    `Redis Cluster: 3 masters, 3 replicas, loopback TCP, nothing persisted, emptied before every sample; globalRps ${text(GLOBAL_RPS)}`,
    'ours: 3 shards, one on each master; beside it 1 shard on one master. One process hands in and works.',
  ],
  pairs: 9,
  warmUps: 1,
  rows,
  close: stopCluster,
});
