import type { Gauge } from './gauges.js';
import { Crew } from './outbox/crew.js';
import { graphileWorker } from './outbox/graphile-worker.js';
import { heldSnapshot } from './outbox/held-snapshot.js';
import { insertingAndRunning, largeBatch } from './outbox/large.js';
import { millrace, TASKS_PER_BATCH } from './outbox/millrace.js';
import { pgBoss } from './outbox/pg-boss.js';
import { describeServer, stopServer } from './outbox/server.js';
import { inserting, working } from './outbox/sides.js';
import { succession } from './outbox/succession.js';
import { describePeers, GRAPHILE_WORKER } from './peers.js';
import { type Row, registerBench } from './registry.js';

// Tasks that wait for other systems: many at once. Also the most that is claimed at once, as with graphile-worker's localQueue.
const EXTERNAL_AT_ONCE = 500;
const TRANSACTIONS_AT_ONCE = 10;
const text = (count: number) => count.toLocaleString('en');

/** graphile-worker first everywhere: the noise of a peer against itself is measured with the first, and it is the quicker one. */
function rows({ smoke }: { smoke: boolean }): Row[] {
  const perBatch = smoke ? 100 : TASKS_PER_BATCH;
  const external = { tasks: smoke ? 200 : 30_000, concurrency: EXTERNAL_AT_ONCE, effect: false };
  const transactional = { tasks: smoke ? 100 : 4_000, concurrency: TRANSACTIONS_AT_ONCE, effect: true };
  const inserted = smoke ? 200 : 20_000;
  const flat = millrace({ perBatch, effect: false });
  const single = millrace({ perBatch: 1, effect: false });
  const queued = graphileWorker(GRAPHILE_WORKER.localQueue);
  const best = graphileWorker(GRAPHILE_WORKER.localQueueBest);
  const informative = { unit: 'ns', bar: 0, aim: 1 };
  return [
    {
      work: `external: ${text(external.tasks)} no-op tasks, concurrency ${EXTERNAL_AT_ONCE}`,
      unit: 'ns',
      bar: 1.2,
      aim: 2,
      ours: working(flat, external),
      peers: [
        working(queued, external),
        ...(smoke ? [] : [working(best, external, { bar: 0, aim: 1 })]),
        working(pgBoss, external, { bar: 2, aim: 2 }),
      ],
    },
    {
      work: `transactional: ${text(transactional.tasks)} tasks of one INSERT, concurrency ${TRANSACTIONS_AT_ONCE}`,
      unit: 'ns',
      bar: 1.2,
      aim: 2,
      ours: working(millrace({ perBatch, effect: true }), transactional),
      peers: [working(graphileWorker(), transactional)],
    },
    {
      work: 'external: the same, each task a batch of its own',
      ...informative,
      ours: working(single, external),
      peers: [working(queued, external)],
    },
    {
      work: `insertion of ${text(inserted)} tasks`,
      ...informative,
      ours: inserting(flat, inserted),
      peers: [
        inserting(queued, inserted, { name: 'graphile-worker' }),
        inserting(pgBoss, inserted, { name: 'pg-boss' }),
      ],
    },
  ];
}

function gauges({ smoke }: { smoke: boolean }): Gauge[] {
  const length = smoke ? 5 : 100;
  const all = ([1, 2] as const).flatMap((pollers) =>
    (['external', 'transactional'] as const).map((mode) => succession({ mode, length }, pollers)),
  );
  // Both modes and both numbers of processes, each once: starting processes takes most of a smoke run.
  return smoke ? all.filter((_, index) => index === 0 || index === 3) : all;
}

registerBench({
  name: 'outbox',
  get settings() {
    return [
      ...describePeers(['graphile-worker', 'pg-boss']),
      `Millrace: flat tasks as batches of ${text(TASKS_PER_BATCH)} independent tasks of one DAG (a 100-byte payload per batch, given to each task; peers: one per job), no-op tasks in mode external, the others transactional; options as they come but concurrency`,
      'Flat tasks are all inserted before; the clock runs from the start of the worker, connecting included, until the database shows everything as done (of Millrace: the batches ended, too). Worker and benchmark are one process',
      describeServer(),
    ];
  },
  pairs: 9,
  warmUps: 1,
  rows,
  gauges,
  close: stopServer,
});

registerBench({
  name: 'outbox-large',
  get settings() {
    return [
      'a root, chains of 10 no-op tasks in mode external, one task that waits for all chains; concurrency 100; from the call that starts the batch until it has ended',
      describeServer(),
    ];
  },
  pairs: 9,
  warmUps: 1,
  rows({ smoke }) {
    const [large, small, times] = smoke ? [200, 100, 1] : [100_000, 1_000, 10];
    return [
      {
        work: `insert and run: one batch of ${text(large)} tasks, per task`,
        unit: 'ns',
        // Linear within a quarter.
        bar: 0.8,
        aim: 1,
        ours: insertingAndRunning('Millrace', large, 1),
        peers: [insertingAndRunning(`itself, ${times} batches of ${text(small)}`, small, times)],
      },
    ];
  },
  gauges: ({ smoke }) => [largeBatch(smoke ? 200 : 100_000)],
  close: stopServer,
});

const POLLERS = 8;
const POLLER_CONCURRENCY = 12;

/** Tasks that all wait to be counted at one row, beside tasks that do not. */
function fanningIn(tasks: number, pollers: number): Pick<Row, 'work' | 'ours' | 'peers' | 'close'> {
  const [fanIn, flat] = [{ kind: 'fan-in', tasks } as const, { kind: 'flat', tasks } as const];
  const crew = new Crew({ pollers, concurrency: POLLER_CONCURRENCY, dags: [fanIn, flat] });
  return {
    work: `${text(tasks)} → 1 fan-in, ${pollers} poller processes, per task`,
    ours: crew.running('Millrace', fanIn),
    peers: [crew.running('itself, flat', flat)],
    close: () => crew.close(),
  };
}

registerBench({
  name: 'outbox-strain',
  get settings() {
    return [
      `fan-in: no-op tasks in mode external and one that waits for all of them, beside one batch of as many independent tasks; both run by the same processes, concurrency ${POLLER_CONCURRENCY} each, which poll already; from the call that starts the batch until it has ended; VACUUM instead of emptied tables`,
      'snapshot: one process, concurrency 500, four batches ahead; a REPEATABLE READ transaction on a connection of its own',
      describeServer(),
    ];
  },
  pairs: 9,
  warmUps: 3,
  rows({ smoke }) {
    const [tasks, pollers] = smoke ? [200, 2] : [10_000, POLLERS];
    // No slower than a quarter more.
    return [{ ...fanningIn(tasks, pollers), unit: 'ns', bar: 0.8, aim: 1 }];
  },
  gauges: ({ smoke }) => [
    heldSnapshot(
      smoke
        ? { perBatch: 100, settleMs: 50, holdMs: 500, windowMs: 200 }
        : { perBatch: TASKS_PER_BATCH, settleMs: 3_000, holdMs: 60_000, windowMs: 10_000 },
    ),
  ],
  close: stopServer,
});
