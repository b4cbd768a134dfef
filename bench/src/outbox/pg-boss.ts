import PgBoss from 'pg-boss';
import { inBatches, payloadOf, sequence } from '../bulk/jobs.js';
import type { Contender } from './contender.js';
import { administer, databaseUrl } from './server.js';

const QUEUE = 'noop';
const BATCH = 1000;
/** Jobs that one worker fetches, handles and completes together. */
const FETCHED = 100;
const jobOf = (index: number) => ({ name: QUEUE, data: payloadOf(index) });

/** Without its clock and its maintenance, which have nothing to do here. */
async function open(): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: await databaseUrl(), supervise: false, schedule: false });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return boss;
}

/**
 * pg-boss.
 * @param workers - loops that fetch at the same time.
 */
export const pgBoss = (workers: number): Contender => ({
  name: `pg-boss, ${workers} × ${FETCHED}`,
  anyOpen: `SELECT EXISTS (SELECT FROM pgboss.job WHERE name = '${QUEUE}' AND state < 'completed') AS open`,

  async empty() {
    const boss = await open();
    await boss.createQueue(QUEUE);
    await boss.stop({ graceful: false });
    await administer('TRUNCATE pgboss.job, pgboss.archive');
  },

  async openProducer() {
    const boss = await open();
    return {
      insert: (tasks) =>
        inBatches({ total: tasks, size: BATCH, underWay: 1 }, (from, count) =>
          boss.insert(sequence(from, count, jobOf)),
        ),
      close: () => boss.stop({ graceful: false }),
    };
  },

  async openWorker({ effect, onTask }) {
    if (effect) throw new Error('pg-boss stands beside no row of tasks with an effect');
    let boss: PgBoss | undefined;
    return {
      async start() {
        const started = await open();
        boss = started;
        for (let worker = 0; worker < workers; worker++) {
          let id = '';
          id = await started.work(
            QUEUE,
            { batchSize: FETCHED, pollingIntervalSeconds: 0.5 },
            async (jobs) => {
              for (const _job of jobs) onTask();
              // Or it would sleep for half a second after every batch.
              started.notifyWorker(id);
            },
          );
        }
      },
      close: async () => boss?.stop({ graceful: false }),
    };
  },
});
