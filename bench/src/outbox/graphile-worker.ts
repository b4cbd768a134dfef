import { type Job, Logger, makeWorkerUtils, run, type TaskList } from 'graphile-worker';
import pg from 'pg';
import { inBatches, payloadOf, sequence } from '../bulk/jobs.js';
import { GRAPHILE_WORKER } from '../peers.js';
import type { Contender, WorkerOptions } from './contender.js';
import { administer, databaseUrl, EFFECT_NAME, INSERT_EFFECT } from './server.js';

const TASK = 'noop';
const logger = new Logger(() => () => {});
const jobOf = (index: number) => ({ identifier: TASK, payload: payloadOf(index) });

/** A pool of ours: that of its own is still being closed when it says that it has stopped. */
async function openPool(max: number): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: await databaseUrl(), max });
  const complain = (error: Error) => {
    // Its connections are still being closed when `end` has been answered, and the server may be faster.
    if (!pool.ending) console.error(`graphile-worker: ${error.message}`);
  };
  pool.on('error', complain);
  pool.on('connect', (client) => client.on('error', complain));
  return pool;
}

function handlers({ effect, onTask }: WorkerOptions): TaskList {
  if (!effect) return { [TASK]: async () => onTask() };
  return {
    async [TASK](_payload, { job, withPgClient }) {
      await withPgClient((client) => client.query(insertOf(job)));
      onTask();
    },
  };
}

const insertOf = ({ id }: Job) => ({ name: EFFECT_NAME, text: INSERT_EFFECT, values: [id] });

/**
 * graphile-worker.
 * @param localQueue - how many jobs it fetches at a time; none: each worker fetches its own job and completes it by itself.
 */
export const graphileWorker = (localQueue?: number): Contender => ({
  name: localQueue === undefined ? 'graphile-worker' : `graphile-worker, localQueue ${localQueue}`,
  anyOpen: 'SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS open',

  async empty() {
    const pgPool = await openPool(1);
    const utils = await makeWorkerUtils({ pgPool, logger });
    await utils.migrate();
    await utils.release();
    await pgPool.end();
    await administer('TRUNCATE graphile_worker._private_jobs');
  },

  async openProducer() {
    const pgPool = await openPool(1);
    const utils = await makeWorkerUtils({ pgPool, logger });
    return {
      insert: (tasks) =>
        inBatches({ total: tasks, size: GRAPHILE_WORKER.batch, underWay: 1 }, (from, count) =>
          utils.addJobs(sequence(from, count, jobOf)),
        ),
      async close() {
        await utils.release();
        await pgPool.end();
      },
    };
  },

  async openWorker(options) {
    const { concurrency } = options;
    const pgPool = await openPool(Math.max(10, concurrency + GRAPHILE_WORKER.connectionsBeside));
    const worker = {
      concurrentJobs: concurrency,
      ...(localQueue !== undefined && { localQueue: { size: localQueue }, ...GRAPHILE_WORKER.grouped }),
    };
    let stop = async () => {};
    return {
      async start() {
        const runner = await run({
          pgPool,
          preset: { worker },
          taskList: handlers(options),
          logger,
          noHandleSignals: true,
        });
        stop = () => runner.stop();
      },
      async close() {
        await stop();
        await pgPool.end();
      },
    };
  },
});

// Otherwise it writes a line for each job to the console, whatever its logger says.
process.env.NO_LOG_SUCCESS = '1';
