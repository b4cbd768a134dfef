import PgBoss from 'pg-boss';
import { inBatches, payloadOf, sequence } from '../bulk/jobs.js';
import { PG_BOSS } from '../peers.js';
import type { Contender } from './contender.js';
import { administer, databaseUrl } from './server.js';

const QUEUE = 'noop';
const jobOf = (index: number) => ({ name: QUEUE, data: payloadOf(index) });

async function open(): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: await databaseUrl(), ...PG_BOSS.boss });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return boss;
}

/** pg-boss; each of its workers is a loop that fetches, handles and completes a batch of jobs together. */
export const pgBoss: Contender = {
  name: `pg-boss, ${PG_BOSS.workers} × ${PG_BOSS.work.batchSize}`,
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
        inBatches({ total: tasks, size: PG_BOSS.batch, underWay: 1 }, (from, count) =>
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
        for (let worker = 0; worker < PG_BOSS.workers; worker++) {
          let id = '';
          id = await started.work(QUEUE, PG_BOSS.work, async (jobs) => {
            for (const _job of jobs) onTask();
            // Or it would sleep for half a second after every batch.
            started.notifyWorker(id);
          });
        }
      },
      close: async () => boss?.stop({ graceful: false }),
    };
  },
};
